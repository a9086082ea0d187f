#pragma once

#include "absl/status/status.h"
#include "mounter/cli/arguments.h"
#include "mounter/cli/command_context.h"
#include "mounter/cli/console.h"

namespace bucketvol {

/// `bucketvol upgrade MOUNTPOINT|--all [--program FILE]`: has workers of this program (or another) take over
/// running mounts. A mount whose new worker does not come up stays with its old one; the error says why.
absl::Status RunUpgrade(const CommandContext& context, const Arguments& arguments, Console& console);

}  // namespace bucketvol
