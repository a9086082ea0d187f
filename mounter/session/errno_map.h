#pragma once

#include "absl/status/status.h"

namespace bucketvol {

/// Turns an error into the errno an application sees. The one door outwards; OK becomes 0.
///
/// What a service could not do after all retries is EIO, never EAGAIN: applications would loop.
int StatusToErrno(const absl::Status& status);

/// The same for a read of an open file, where a missing object is not "no such file" but ESTALE.
int ReadStatusToErrno(const absl::Status& status);

}  // namespace bucketvol
