#include "mounter/session/errno_map.h"

#include <cerrno>

namespace bucketvol {

int StatusToErrno(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kCancelled:
      return EINTR;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return EINVAL;
    case absl::StatusCode::kDeadlineExceeded:
      return ETIMEDOUT;
    case absl::StatusCode::kNotFound:
      return ENOENT;
    case absl::StatusCode::kAlreadyExists:
      return EEXIST;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return EACCES;
    case absl::StatusCode::kFailedPrecondition:
      return ESTALE;
    case absl::StatusCode::kUnimplemented:
      return EOPNOTSUPP;
    default:
      return EIO;  // Unknown, ResourceExhausted, Aborted, Internal, Unavailable, DataLoss.
  }
}

int ReadStatusToErrno(const absl::Status& status) {
  return absl::IsNotFound(status) ? ESTALE : StatusToErrno(status);
}

}  // namespace bucketvol
