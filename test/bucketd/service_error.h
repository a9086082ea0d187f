#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace bucketvol::bucketd {

enum class Dialect { kOss, kS3 };

/// What went wrong, in words of neither service. service_error.cc has the row of each: status, code and text
/// per dialect.
enum class ErrorKind {
  kAccessDenied,
  kAnonymousDenied,
  kInvalidAccessKey,
  kSignatureMismatch,
  kMalformedAuthorization,
  kWrongRegion,
  kClockSkew,
  kPresignedExpired,
  kPresignedTooLong,
  kInvalidToken,
  kExpiredToken,
  kUnsignedHeader,
  kContentHashMismatch,
  kMissingContentHash,
  kNoSuchBucket,
  kNoSuchKey,
  kNoSuchUpload,
  kNoSuchSymlinkTarget,
  kNotSymlink,
  kInvalidTargetType,
  kBucketExists,
  kBucketNotEmpty,
  kInvalidBucketName,
  kInvalidObjectName,
  kKeyTooLong,
  kInvalidArgument,
  kInvalidRequest,
  kInvalidRange,
  kInvalidDigest,
  kBadDigest,
  kMalformedXml,
  kIncompleteBody,
  kInvalidPart,
  kInvalidPartOrder,
  kEntityTooSmall,
  kPreconditionFailed,
  kCopySourceUnchanged,
  kFileExists,
  kPositionMismatch,
  kNotAppendable,
  kMethodNotAllowed,
  kMissingContentLength,
  kArchived,
  kNotImplemented,
  kInternal,
  kSlowDown,
  kTooManyRequests,
  kTrafficLimit,
  kActiveRequestLimit,
};

struct ServiceError {
  ErrorKind kind;
  std::string message;                                       // Empty: the service's usual words.
  std::vector<std::pair<std::string, std::string>> details;  // More elements of the document, in order.
};

/// How one dialect words an error.
struct ErrorWords {
  int status;
  absl::string_view code;
  absl::string_view message;
  absl::string_view ec;  // OSS only: the number of x-oss-ec.
};
ErrorWords WordsOf(ErrorKind kind, Dialect dialect);

/// A value, or why there is none.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: converts, like StatusOr.
  Outcome(ServiceError error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  Outcome(ErrorKind kind) : Outcome(ServiceError{kind, {}, {}}) {}                   // NOLINT

  bool ok() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  ServiceError& error() { return std::get<1>(state_); }
  const ServiceError& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, ServiceError> state_;
};

struct Nothing {};

}  // namespace bucketvol::bucketd
