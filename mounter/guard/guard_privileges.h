#pragma once

#include "mounter/guard/outcome.h"

namespace bucketvol {

/// Gives up, for good, the capabilities that no guard needs: what stays is for mounting, for starting workers
/// that shut themselves in, and for directories of other users on the way to a mount point or to its own
/// files. Without CAP_SETPCAP only those in use are given up.
Step KeepGuardPrivileges();

}  // namespace bucketvol
