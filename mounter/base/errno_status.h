#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace bucketvol {

/// Turns an errno of a system call into a Status: "CONTEXT: No space left on device". The one door from errno
/// inwards.
///
/// ENOENT becomes NotFound, EACCES and EPERM PermissionDenied, EEXIST AlreadyExists, EBUSY and EAGAIN
/// Unavailable, ENOSPC, EDQUOT, EMFILE, ENFILE and ENOMEM ResourceExhausted, EINVAL InvalidArgument, the rest
/// Internal.
absl::Status ErrnoToStatus(int error, absl::string_view context);

}  // namespace bucketvol
