#pragma once

#include "absl/status/status.h"
#include "mounter/cli/arguments.h"
#include "mounter/cli/command_context.h"
#include "mounter/cli/console.h"

namespace bucketvol {

/// `bucketvol index build SOURCE --out DIR [-o …]`: lists and builds without mounting. Needs no root. An
/// interruption leaves what was in DIR before.
absl::Status RunIndexBuild(const CommandContext& context, const Arguments& arguments, Console& console);

/// `bucketvol index show DIR|FILE [--json]`: what an index holds.
absl::Status RunIndexShow(const Arguments& arguments);

}  // namespace bucketvol
