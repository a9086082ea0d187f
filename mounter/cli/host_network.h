#pragma once

#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// The network of the host (of process 1) when this process is in another one and may enter it: a mount
/// outlives the container or the session that made it, whose network ends with it. Invalid otherwise.
UniqueFd FindHostNetwork();

}  // namespace bucketvol
