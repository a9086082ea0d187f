#include "mounter/objstore/service_error.h"

#include <algorithm>
#include <array>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/objstore/expat_document.h"
#include "mounter/objstore/http_fields.h"
#include "mounter/objstore/store_error.h"

namespace bucketvol {
namespace {

class ErrorHandler final : public XmlHandler {
 public:
  explicit ErrorHandler(ServiceError& error) : error_(error) {}

  void OnOpen(const std::vector<std::string>& path) override {
    target_ = path.size() == 2 && path[0] == "Error" ? Target(path[1]) : nullptr;
    if (target_ != nullptr) target_->clear();
  }
  void OnText(absl::string_view text) override {
    if (target_ != nullptr) target_->append(text.data(), text.size());
  }
  void OnClose(const std::vector<std::string>&) override { target_ = nullptr; }

 private:
  std::string* Target(absl::string_view name) {
    if (name == "Code") return &error_.code;
    if (name == "Message") return &error_.message;
    if (name == "RequestId") return &error_.request_id;
    if (name == "Region") return &error_.region;
    if (name == "Endpoint") return &error_.endpoint;
    return nullptr;
  }

  ServiceError& error_;
  std::string* target_ = nullptr;
};

constexpr char kNewCredentials[] =
    "get new temporary credentials; key, secret and token must belong together";

// By code. Sources: the error tables of the OSS and S3 API references.
constexpr std::array kRules = {
    ErrorRule{"AccessDenied", absl::StatusCode::kPermissionDenied, ErrorRule::kFinal,
              "the policy of this access key must allow listing the bucket and reading its objects"},
    ErrorRule{"ActiveRequestLimitExceeded", absl::StatusCode::kResourceExhausted, ErrorRule::kFewerAtATime,
              ""},
    ErrorRule{"AuthorizationHeaderMalformed", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal,
              "check region="},
    ErrorRule{"BadRequest", absl::StatusCode::kUnavailable, ErrorRule::kRetry, ""},
    ErrorRule{"DownloadTrafficRateLimitExceeded", absl::StatusCode::kResourceExhausted, ErrorRule::kBandwidth,
              ""},
    ErrorRule{"EntityTooLarge", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal, ""},
    ErrorRule{"EntityTooSmall", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal, ""},
    ErrorRule{"ExpiredToken", absl::StatusCode::kUnauthenticated, ErrorRule::kFinal, kNewCredentials},
    ErrorRule{"FileAlreadyExists", absl::StatusCode::kAlreadyExists, ErrorRule::kFinal, ""},
    ErrorRule{"InternalError", absl::StatusCode::kUnavailable, ErrorRule::kRetry, ""},
    ErrorRule{"InvalidAccessKeyId", absl::StatusCode::kUnauthenticated, ErrorRule::kFinal,
              "check the access key id; temporary credentials also need their session token"},
    ErrorRule{"InvalidArgument", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal, ""},
    ErrorRule{"InvalidBucketName", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal,
              "check the bucket's name"},
    ErrorRule{"InvalidDigest", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal, ""},
    ErrorRule{"InvalidObjectName", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal, ""},
    ErrorRule{"InvalidObjectState", absl::StatusCode::kPermissionDenied, ErrorRule::kFinal,
              "the object is archived; restore it first"},
    ErrorRule{"InvalidRange", absl::StatusCode::kFailedPrecondition, ErrorRule::kFinal,
              "the object's size changed"},
    ErrorRule{"InvalidSecurityToken", absl::StatusCode::kUnauthenticated, ErrorRule::kFinal, kNewCredentials},
    ErrorRule{"InvalidToken", absl::StatusCode::kUnauthenticated, ErrorRule::kFinal, kNewCredentials},
    ErrorRule{"KeyTooLongError", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal, ""},
    ErrorRule{"MalformedXML", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal, ""},
    ErrorRule{"MetaOperationQpsLimitExceeded", absl::StatusCode::kResourceExhausted, ErrorRule::kThrottled,
              ""},
    ErrorRule{"MethodNotAllowed", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal, ""},
    ErrorRule{"NoSuchBucket", absl::StatusCode::kNotFound, ErrorRule::kFinal,
              "check the bucket's name and url="},
    ErrorRule{"NoSuchKey", absl::StatusCode::kNotFound, ErrorRule::kFinal, ""},
    ErrorRule{"NoSuchUpload", absl::StatusCode::kNotFound, ErrorRule::kFinal, ""},
    ErrorRule{"PermanentRedirect", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal,
              "check url= and region="},
    ErrorRule{"PositionNotEqualToLength", absl::StatusCode::kAborted, ErrorRule::kFinal, ""},
    ErrorRule{"PreconditionFailed", absl::StatusCode::kFailedPrecondition, ErrorRule::kFinal,
              "the object changed"},
    ErrorRule{"RequestTimeTooSkewed", absl::StatusCode::kUnauthenticated, ErrorRule::kFinal,
              "set this machine's clock"},
    ErrorRule{"RequestTimeout", absl::StatusCode::kUnavailable, ErrorRule::kRetry, ""},
    ErrorRule{"SecondLevelDomainForbidden", absl::StatusCode::kInvalidArgument, ErrorRule::kFinal,
              "this service wants the bucket in the host name: do not ask for path style, and let url= be "
              "its host name"},
    ErrorRule{"SecurityTokenExpired", absl::StatusCode::kUnauthenticated, ErrorRule::kFinal, kNewCredentials},
    ErrorRule{"SignatureDoesNotMatch", absl::StatusCode::kUnauthenticated, ErrorRule::kFinal,
              "check the access key secret (white space at its ends?), region= and sigVersion="},
    ErrorRule{"SlowDown", absl::StatusCode::kResourceExhausted, ErrorRule::kThrottled, ""},
    ErrorRule{"TemporaryRedirect", absl::StatusCode::kUnavailable, ErrorRule::kRetry, ""},
    ErrorRule{"TotalQpsLimitExceeded", absl::StatusCode::kResourceExhausted, ErrorRule::kThrottled, ""},
    ErrorRule{"UploadTrafficRateLimitExceeded", absl::StatusCode::kResourceExhausted, ErrorRule::kBandwidth,
              ""},
    ErrorRule{"UserDisable", absl::StatusCode::kPermissionDenied, ErrorRule::kFinal,
              "the account is disabled or in arrears"},
};
static_assert(std::is_sorted(kRules.begin(), kRules.end(),
                             [](const ErrorRule& a, const ErrorRule& b) { return a.code < b.code; }));

// For answers without a code that is known.
ErrorRule RuleOfStatus(int http_status, Dialect dialect) {
  using enum absl::StatusCode;
  switch (http_status) {
    case 401:
      return {"", kUnauthenticated, ErrorRule::kFinal, "check the credentials"};
    case 403:
      return {"", kPermissionDenied, ErrorRule::kFinal, ""};
    case 404:
      return {"", kNotFound, ErrorRule::kFinal, ""};
    case 408:
      return {"", kUnavailable, ErrorRule::kRetry, ""};
    case 409:
      return {"", kAborted, ErrorRule::kFinal, ""};
    case 412:
    case 416:
      return {"", kFailedPrecondition, ErrorRule::kFinal, "the object changed"};
    case 429:
      return {"", kResourceExhausted, ErrorRule::kThrottled, ""};
    case 501:
      return {"", kUnimplemented, ErrorRule::kFinal, ""};
    case 503:
      // S3 says "slow down" by it; OSS has codes of its own for that.
      if (dialect == Dialect::kS3) return {"", kResourceExhausted, ErrorRule::kThrottled, ""};
      return {"", kUnavailable, ErrorRule::kRetry, ""};
    default:
      break;
  }
  if (http_status >= 500) return {"", kUnavailable, ErrorRule::kRetry, ""};
  return {"", kInvalidArgument, ErrorRule::kFinal, "is url= the endpoint of an object store?"};
}

ErrorRule RuleOf(const ServiceError& error, Dialect dialect) {
  const auto rule =
      std::lower_bound(kRules.begin(), kRules.end(), error.code,
                       [](const ErrorRule& each, const std::string& code) { return each.code < code; });
  if (rule != kRules.end() && rule->code == error.code) return *rule;
  return RuleOfStatus(error.http_status, dialect);
}

Congestion CongestionOf(ErrorRule::Reaction reaction) {
  switch (reaction) {
    case ErrorRule::kFinal:
      return Congestion::kNone;
    case ErrorRule::kRetry:
      return Congestion::kServerTrouble;
    case ErrorRule::kThrottled:
      return Congestion::kRequestRate;
    case ErrorRule::kBandwidth:
      return Congestion::kBandwidth;
    case ErrorRule::kFewerAtATime:
      return Congestion::kActiveRequests;
  }
  return Congestion::kNone;
}

// "; the bucket is in region X, at Y: set region= and url=", of what is known.
std::string RightPlace(const ServiceError& error) {
  if (error.region.empty() && error.endpoint.empty()) return "";
  std::string text = "; the bucket";
  if (!error.region.empty())
    absl::StrAppend(&text, " is in region ", error.region, ": set region=", error.region);
  if (!error.endpoint.empty()) {
    absl::StrAppend(&text, error.region.empty() ? " is" : " and", " reached at ", error.endpoint,
                    ": set url=");
  }
  return text;
}

std::string MessageOf(const ServiceError& error, const ErrorRule& rule) {
  if (error.html) return "the endpoint answered with an HTML page, is url= right?";
  std::string message = error.message;
  if (message.empty()) message = absl::StrCat("the service answered ", error.http_status);
  while (absl::EndsWith(message, ".")) message.pop_back();
  if (!rule.advice.empty()) absl::StrAppend(&message, "; ", rule.advice);
  return absl::StrCat(message, RightPlace(error));
}

}  // namespace

absl::Span<const ErrorRule> ErrorRules() { return kRules; }

ServiceError ReadErrorHead(const HttpResponseHead& head) {
  ServiceError error;
  error.http_status = head.status();
  error.request_id = std::string(head.Find("x-oss-request-id").value_or(head.Value("x-amz-request-id")));
  error.region = std::string(head.Value("x-amz-bucket-region"));
  error.date = ParseHttpDate(head.Value("date"));
  // OSS answers a HEAD with the error document in a header.
  std::string document;
  if (absl::Base64Unescape(head.Value("x-oss-err"), &document)) ReadErrorBody(document, error);
  return error;
}

void ReadErrorBody(absl::string_view body, ServiceError& error) {
  if (body.empty()) return;
  ServiceError read = error;
  ErrorHandler handler(read);
  const absl::Status status = ReadXml(body, handler);
  if (status.ok() || !read.code.empty()) error = std::move(read);
  error.html = error.code.empty() && IsHtml(body);
}

bool IsHtml(absl::string_view body) {
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(body.substr(0, 512));
  return absl::StartsWithIgnoreCase(start, "<!doctype html") || absl::StartsWithIgnoreCase(start, "<html");
}

absl::Status StatusOfServiceError(const ServiceError& error, Dialect dialect, absl::string_view context) {
  const ErrorRule rule = RuleOf(error, dialect);
  StoreError store_error;
  store_error.http_status = error.http_status;
  store_error.code = error.code;
  store_error.message = MessageOf(error, rule);
  store_error.request_id = error.request_id;
  store_error.retryable = rule.reaction != ErrorRule::kFinal;
  store_error.congestion = CongestionOf(rule.reaction);
  store_error.throttled = store_error.retryable && rule.reaction != ErrorRule::kRetry;
  return MakeStoreStatus(rule.status, context, store_error);
}

bool IsRefusalOfCredentials(const ServiceError& error) {
  static constexpr std::array<absl::string_view, 5> kCodes = {
      "ExpiredToken", "InvalidAccessKeyId", "InvalidSecurityToken", "InvalidToken", "SecurityTokenExpired"};
  return absl::c_linear_search(kCodes, error.code) || (error.code.empty() && error.http_status == 401);
}

}  // namespace bucketvol
