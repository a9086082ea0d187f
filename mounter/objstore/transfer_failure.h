#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace bucketvol {

/// Scheme, "host:port", host (without brackets) and "scheme://host:port" of an absolute URL. Views of it.
struct UrlOrigin {
  absl::string_view scheme, authority, host, origin;
};
UrlOrigin OriginOf(absl::string_view url);

/// Why a transfer brought no answer, in the transport's words.
struct TransferFailure {
  enum Kind {
    kNoSuchHost,
    kNoSuchProxy,
    kRefused,
    kTimeout,
    kUntrusted,
    kBadCaFile,
    kTls,
    kNotHttp,
    kBadUrl,
    kCutOff,
    kBroken
  } kind = kBroken;
  std::string url;
  std::string proxy;       // Empty: none. May hold a password.
  bool connected = false;  // Whether the request had gone out.
  bool tls_begun = false;  // Whether TCP stood and TLS was being set up.
  absl::Duration connect_timeout;
  int os_error = 0;      // 0: not known.
  int proxy_answer = 0;  // Status of the proxy's answer to CONNECT; 0: none.
  std::string detail;    // The library's own words.
};

/// Turns a failure into a Status with a StoreError that tells whether trying again may help. Names what to
/// check; never the proxy's password or the query.
absl::Status StatusOfFailure(const TransferFailure& failure);

/// Message of the Aborted status of a transfer whose sink does not want the rest.
inline constexpr char kNotWanted[] = "the rest of the answer was not wanted";

/// DeadlineExceeded, retryable; `late` is TransferWatch's word.
absl::Status FailureOfTimeout(absl::string_view url, absl::string_view late);

}  // namespace bucketvol
