#include "mounter/objstore/transfer_failure.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "mounter/objstore/proxy_rules.h"
#include "mounter/objstore/store_error.h"

namespace bucketvol {
namespace {

enum class Retry { kYes, kNo };

absl::Status Make(absl::StatusCode code, absl::string_view context, std::string message, Retry retry) {
  StoreError error;
  error.message = std::move(message);
  error.retryable = retry == Retry::kYes;
  if (error.retryable) error.congestion = Congestion::kServerTrouble;
  return MakeStoreStatus(code, context, error);
}

std::string SystemWords(const TransferFailure& failure) {
  return failure.os_error != 0 ? strerror(failure.os_error) : failure.detail;
}

std::string Via(const TransferFailure& failure) {
  return failure.proxy.empty() ? "" : absl::StrCat(" (by proxy ", DescribeProxy(failure.proxy), ")");
}

std::string Timeout(const TransferFailure& failure) {
  const std::string limit = absl::FormatDuration(failure.connect_timeout);
  if (failure.tls_begun)
    return absl::StrCat("TLS was not set up within ", limit, Via(failure),
                        "; is url= right (http or https, port)?");
  return absl::StrCat("no connection within ", limit, Via(failure));
}

// Whatever kept the proxy from passing the request on.
absl::Status ProxyRefusal(const TransferFailure& failure) {
  const bool final = failure.proxy_answer < 500;
  return Make(absl::StatusCode::kUnavailable, absl::StrCat("cannot reach ", OriginOf(failure.url).origin),
              absl::StrCat("the proxy ", DescribeProxy(failure.proxy), " answered ", failure.proxy_answer,
                           "; check proxy= and no_proxy="),
              final ? Retry::kNo : Retry::kYes);
}

}  // namespace

UrlOrigin OriginOf(absl::string_view url) {
  UrlOrigin parts;
  const size_t scheme_end = url.find("://");
  if (scheme_end == absl::string_view::npos) return parts;
  parts.scheme = url.substr(0, scheme_end);
  const size_t host_begin = scheme_end + 3;
  const size_t end = std::min(url.find_first_of("/?#", host_begin), url.size());
  parts.origin = url.substr(0, end);
  const absl::string_view authority = parts.authority = url.substr(host_begin, end - host_begin);
  if (!authority.empty() && authority.front() == '[') {
    parts.host = authority.substr(1, authority.find(']') - 1);
  } else {
    parts.host = authority.substr(0, authority.rfind(':'));
  }
  return parts;
}

absl::Status StatusOfFailure(const TransferFailure& failure) {
  using enum absl::StatusCode;
  const absl::string_view origin = OriginOf(failure.url).origin;
  const std::string cannot_reach = absl::StrCat("cannot reach ", origin);
  const std::string broke =
      absl::StrCat(failure.connected ? "lost the connection to " : "cannot reach ", origin);
  const std::string via =
      failure.proxy.empty() ? "" : absl::StrCat(" (by proxy ", DescribeProxy(failure.proxy), ")");
  if (failure.proxy_answer >= 300) return ProxyRefusal(failure);
  switch (failure.kind) {
    case TransferFailure::kNoSuchHost:
      return Make(kUnavailable, cannot_reach, "the host name cannot be resolved; is url= right?",
                  Retry::kYes);
    case TransferFailure::kNoSuchProxy:
      return Make(kUnavailable, cannot_reach,
                  absl::StrCat("the name of the proxy ", DescribeProxy(failure.proxy),
                               " cannot be resolved; check proxy="),
                  Retry::kYes);
    case TransferFailure::kRefused:
      return Make(kUnavailable, cannot_reach, absl::StrCat(SystemWords(failure), via), Retry::kYes);
    case TransferFailure::kTimeout:
      return Make(kUnavailable, cannot_reach, Timeout(failure), Retry::kYes);
    case TransferFailure::kUntrusted:
      return Make(kUnavailable, cannot_reach,
                  absl::StrCat("its certificate is not trusted (", failure.detail,
                               "); ca_file= names the certificate of the authority"),
                  Retry::kNo);
    case TransferFailure::kBadCaFile:
      return Make(kUnavailable, cannot_reach,
                  absl::StrCat("ca_file= holds no certificates: ", failure.detail), Retry::kNo);
    case TransferFailure::kTls:
      return Make(kUnavailable, cannot_reach, absl::StrCat("TLS cannot be set up: ", failure.detail, via),
                  Retry::kYes);
    case TransferFailure::kNotHttp:
      return Make(kUnavailable, cannot_reach, "the answer is no HTTP; is url= right (http or https, port)?",
                  Retry::kNo);
    case TransferFailure::kBadUrl:
      return Make(kInvalidArgument, cannot_reach, "url= is no valid URL", Retry::kNo);
    case TransferFailure::kCutOff:
      return Make(kDataLoss, broke, "the answer ended early", Retry::kYes);
    case TransferFailure::kBroken:
      return Make(kUnavailable, broke, absl::StrCat(SystemWords(failure), via), Retry::kYes);
  }
  return absl::InternalError("unknown failure of a transfer");
}

absl::Status FailureOfTimeout(absl::string_view url, absl::string_view late) {
  return Make(absl::StatusCode::kDeadlineExceeded, absl::StrCat("waiting for ", OriginOf(url).origin),
              std::string(late), Retry::kYes);
}

}  // namespace bucketvol
