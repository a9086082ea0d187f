#pragma once

#include "absl/status/status.h"
#include "mounter/options/volume_spec.h"

namespace bucketvol {

/// Shuts the worker of a volume in (EnterSandbox): its indexes stay writable; its certificates and the files
/// of its credentials stay readable.
absl::Status EnterWorkerSandbox(const VolumeSpec& spec);

}  // namespace bucketvol
