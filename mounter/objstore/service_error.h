#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "mounter/objstore/dialect.h"
#include "mounter/objstore/http_transport.h"

namespace bucketvol {

/// An answer that is no success, as the service tells it.
struct ServiceError {
  int http_status = 0;
  std::string code;  // "NoSuchKey"; empty when there was no error document.
  std::string message;
  std::string request_id;
  std::string region;              // The bucket's region, where the answer names it.
  std::string endpoint;            // The host to use instead, where the answer names one.
  std::optional<absl::Time> date;  // The service's clock.
  bool html = false;               // The body was a web page.
};

/// Reads what the headers tell.
ServiceError ReadErrorHead(const HttpResponseHead& head);

/// Adds what the body tells: an `<Error>` document, possibly cut off; or a web page.
void ReadErrorBody(absl::string_view body, ServiceError& error);

/// Whether a body is a web page.
bool IsHtml(absl::string_view body);

/// What an error code means for us. docs/errors.md shows the same table to users.
struct ErrorRule {
  absl::string_view code;
  absl::StatusCode status;
  enum Reaction {
    kFinal,
    kRetry,
    kThrottled,     // Too many requests per second: retry, and send fewer.
    kBandwidth,     // Too many bytes per second: retry later.
    kFewerAtATime,  // Too many requests at a time: retry later.
  } reaction;
  absl::string_view advice;  // What the user should change; may be empty.
};
absl::Span<const ErrorRule> ErrorRules();

/// The Status for an error, with its StoreError: by code, else by HTTP status. `context` says what was being
/// done.
absl::Status StatusOfServiceError(const ServiceError& error, Dialect dialect, absl::string_view context);

/// Whether newer credentials may help.
bool IsRefusalOfCredentials(const ServiceError& error);

}  // namespace bucketvol
