#pragma once

#include "absl/status/status.h"

namespace bucketvol {

/// Gives up what a worker does not need: every capability, the right to gain new ones, core files, and being
/// read by debuggers and /proc of other users. It stays the same user: what it writes and reads must belong
/// to it.
absl::Status EnterSandbox();

/// Raises the limit of open files to what is allowed.
void RaiseFileLimit();

}  // namespace bucketvol
