#include "test/bucketd/object_headers.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace bucketvol::bucketd {
namespace {

constexpr absl::string_view kStoredHeaders[] = {"content-type",     "content-encoding", "content-disposition",
                                                "content-language", "cache-control",    "expires"};

// The transfer's own coding is no property of the object.
std::string WithoutAwsChunked(absl::string_view value) {
  if (!absl::ConsumePrefix(&value, "aws-chunked")) return std::string(value);
  absl::ConsumePrefix(&value, ",");
  return std::string(absl::StripAsciiWhitespace(value));
}

}  // namespace

ObjectMeta MetaFromHeaders(const ApiRequest& request) {
  ObjectMeta meta;
  meta.storage_class = std::string(request.ServiceHeader("storage-class"));
  if (meta.storage_class == "STANDARD" || meta.storage_class == "Standard") meta.storage_class.clear();
  const std::string user_prefix = absl::StrCat(request.header_prefix(), "meta-");
  for (const HttpHeader& header : request.http->headers) {
    std::string name = absl::AsciiStrToLower(header.name);
    if (absl::StartsWith(name, user_prefix)) {
      meta.headers.emplace_back(name.substr(request.header_prefix().size()), std::string(header.value));
    } else if (std::find(std::begin(kStoredHeaders), std::end(kStoredHeaders), name) !=
               std::end(kStoredHeaders)) {
      std::string value =
          name == "content-encoding" ? WithoutAwsChunked(header.value) : std::string(header.value);
      if (!value.empty()) meta.headers.emplace_back(std::move(name), std::move(value));
    }
  }
  return meta;
}

WriteCondition WriteConditionOf(const ApiRequest& request) {
  WriteCondition condition;
  condition.only_if_absent = absl::EqualsIgnoreCase(request.http->Get("x-oss-forbid-overwrite"), "true") ||
                             request.http->Get("if-none-match") == "*";
  condition.if_etag = std::string(request.http->Get("if-match"));
  return condition;
}

std::optional<ServiceError> CheckKey(const ApiRequest& request) {
  const std::string& key = request.key();
  const bool oss = request.dialect == Dialect::kOss;
  if (key.size() > (oss ? 1023 : 1024)) {
    return ServiceError{ErrorKind::kKeyTooLong, "", {{"Size", absl::StrCat(key.size())}}};
  }
  const bool bad_start = !key.empty() && (key[0] == '/' || key[0] == '\\');
  if (oss && bad_start) return ServiceError{ErrorKind::kInvalidObjectName, "", {{"ObjectName", key}}};
  return std::nullopt;
}

}  // namespace bucketvol::bucketd
