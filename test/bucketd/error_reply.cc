#include "test/bucketd/error_reply.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

void AppendElement(std::string& xml, absl::string_view name, absl::string_view text) {
  absl::StrAppend(&xml, "<", name, ">");
  AppendXmlEscaped(xml, text);
  absl::StrAppend(&xml, "</", name, ">");
}

}  // namespace

std::string ErrorDocument(const ServiceError& error, const ApiRequest& request,
                          absl::string_view request_id) {
  const ErrorWords words = WordsOf(error.kind, request.dialect);
  const bool oss = request.dialect == Dialect::kOss;
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>";
  AppendElement(xml, "Code", words.code);
  AppendElement(xml, "Message", error.message.empty() ? words.message : absl::string_view(error.message));
  if (!oss) {
    for (const auto& [name, value] : error.details) AppendElement(xml, name, value);
    if (!request.bucket().empty())
      AppendElement(xml, "Resource", absl::StrCat("/", request.bucket(), "/", request.key()));
  }
  AppendElement(xml, "RequestId", request_id);
  AppendElement(xml, "HostId", oss ? request.http->host : "bucketd");
  if (oss) {
    for (const auto& [name, value] : error.details) AppendElement(xml, name, value);
    AppendElement(xml, "EC", words.ec);
    AppendElement(xml, "RecommendDoc", absl::StrCat("https://api.aliyun.com/troubleshoot?q=", words.ec));
  }
  return absl::StrCat(xml, "</Error>");
}

Reply MakeErrorReply(const ServiceError& error, const ApiRequest& request, absl::string_view request_id) {
  const ErrorWords words = WordsOf(error.kind, request.dialect);
  const bool oss = request.dialect == Dialect::kOss;
  Reply reply;
  reply.status = words.status;
  std::string document = ErrorDocument(error, request, request_id);
  reply.Add("Content-Type", "application/xml");
  if (oss) reply.Add("x-oss-ec", words.ec);
  if (request.http->method == "HEAD" || words.status == 304) {
    if (oss && words.status != 304) reply.Add("x-oss-err", absl::Base64Escape(document));
    reply.head_only = true;
  } else {
    reply.body = std::move(document);
  }
  return reply;
}

}  // namespace bucketvol::bucketd
