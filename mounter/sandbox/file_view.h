#pragma once

#include "absl/status/status.h"
#include "mounter/sandbox/sandbox.h"

namespace bucketvol {

/// Gives the process a root of its own that shows what `settings` names and the files of the system that TLS
/// and name lookup read. What is shown is shown as directories: a file that somebody replaces by rename is
/// seen.
absl::Status NarrowFileView(const SandboxSettings& settings);

}  // namespace bucketvol
