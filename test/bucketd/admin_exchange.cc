#include "test/bucketd/admin_exchange.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "test/bucketd/api_request.h"
#include "test/bucketd/service.h"

namespace bucketvol::bucketd {
namespace {

constexpr size_t kMaxBody = 1 << 20;
constexpr uint64_t kUsualLogLines = 100;

Reply Text(int status, absl::string_view type, std::string body) {
  Reply reply;
  reply.status = status;
  reply.Add("Content-Type", type);
  reply.body = std::move(body);
  return reply;
}

}  // namespace

void AdminExchange::OnBody(absl::string_view data) {
  body_.append(data.data(), std::min(data.size(), kMaxBody - std::min(kMaxBody, body_.size())));
}

Reply AdminExchange::Finish() {
  const bool get = request_.method == "GET";
  const bool post = request_.method == "POST";
  if (get && request_.path == "/-/stats") return Text(200, "application/json", service_.stats().ToJson());
  if (get && request_.path == "/-/log") return Log();
  if (post && request_.path == "/-/reset") return Reset();
  if (post && request_.path == "/-/config") return Configure();
  return Text(404, "text/plain",
              "no such admin call: GET /-/stats, GET /-/log?n=N, POST /-/reset, POST /-/config\n");
}

Reply AdminExchange::Reset() {
  service_.stats().Reset();
  service_.log().Clear();
  return Text(200, "text/plain", "reset\n");
}

Reply AdminExchange::Log() const {
  uint64_t count = kUsualLogLines;
  for (const QueryParam& param : ParseQuery(request_.query)) {
    if (param.name == "n" && !absl::SimpleAtoi(param.value, &count)) {
      return Text(400, "text/plain", absl::StrCat("n is not a number: ", param.value, "\n"));
    }
  }
  return Text(200, "application/json", service_.log().LastAsJson(count));
}

Reply AdminExchange::Configure() {
  const absl::Status status = service_.settings().Apply(body_);
  if (status.ok()) return Text(200, "text/plain", "configured\n");
  return Text(400, "text/plain", absl::StrCat(std::string(status.message()), "\n"));
}

}  // namespace bucketvol::bucketd
