#pragma once

#include "absl/status/statusor.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// Takes SIGINT, SIGTERM and SIGHUP out of their usual course, for threads started later too: the descriptor
/// is readable when one came.
absl::StatusOr<UniqueFd> WatchForInterrupts();

/// Whether one came. Waits for none.
bool WasInterrupted(const UniqueFd& interrupts);

}  // namespace bucketvol
