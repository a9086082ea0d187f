#pragma once

#include "absl/status/status.h"
#include "mounter/cli/arguments.h"
#include "mounter/cli/command_context.h"

namespace bucketvol {

/// bucketvol credentials MOUNTPOINT [-o passwd_file=FILE|profile=NAME|anonymous]: finds credentials where
/// `mount` does and has a running mount use them, once the service has accepted them.
absl::Status RunCredentials(const CommandContext& context, const Arguments& arguments);

}  // namespace bucketvol
