#pragma once

#include "absl/status/status.h"
#include "mounter/cli/arguments.h"
#include "mounter/cli/console.h"

namespace bucketvol {

/// `bucketvol status [MOUNTPOINT] [--json]`: one mount, or a list of all. A mount whose guard has died is
/// shown as stopped.
absl::Status RunStatus(const Arguments& arguments, Console& console);

}  // namespace bucketvol
