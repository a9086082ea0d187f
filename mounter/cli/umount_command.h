#pragma once

#include "absl/status/status.h"
#include "mounter/cli/arguments.h"
#include "mounter/cli/console.h"

namespace bucketvol {

/// `bucketvol umount MOUNTPOINT [--lazy|--force]`: returns when nothing of the mount is left. Works without a
/// guard, too.
absl::Status RunUmount(const Arguments& arguments, Console& console);

}  // namespace bucketvol
