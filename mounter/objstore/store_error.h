#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mounter/objstore/congestion.h"

namespace bucketvol {

/// The service's own words about a failure; travels as a payload of the Status.
struct StoreError {
  int http_status = 0;    // 0: no answer came.
  std::string code = {};  // "NoSuchKey"; empty when the body was no error document.
  std::string message = {};
  std::string request_id = {};
  bool retryable = false;                     // Whether the same request may succeed later.
  bool throttled = false;                     // Whether the service asked for less.
  Congestion congestion = Congestion::kNone;  // What it tells of the load.

  friend bool operator==(const StoreError&, const StoreError&) = default;
};

/// Makes a Status whose message reads "CONTEXT: MESSAGE (Code, HTTP 403, request id X)" and that carries
/// `error`.
absl::Status MakeStoreStatus(absl::StatusCode code, absl::string_view context, const StoreError& error);

/// What the service said, or nullopt for a Status that did not come from a store.
std::optional<StoreError> StoreErrorOf(const absl::Status& status);

/// Whether repeating the request may help: the payload's word where there is one, else by the status code.
bool IsRetryable(const absl::Status& status);

}  // namespace bucketvol
