#pragma once

#include "absl/status/status.h"
#include "mounter/cli/arguments.h"
#include "mounter/cli/command_context.h"
#include "mounter/cli/console.h"

namespace bucketvol {

/// `bucketvol mount SOURCE MOUNTPOINT [-o …] [--foreground]`: starts a guard and returns when the file system
/// answers. SIGINT, SIGTERM and SIGHUP end it at any moment without a trace; with --foreground it stays until
/// the unmount.
absl::Status RunMount(const CommandContext& context, const Arguments& arguments, Console& console);

}  // namespace bucketvol
