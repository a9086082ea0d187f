#pragma once

#include "absl/status/status.h"
#include "mounter/options/volume_spec.h"

namespace bucketvol {

/// Has a worker use the certificates that came with its program where the system has none at the place that
/// the library knows (another distribution's host), and the user named none.
void ChooseCertificates(VolumeOptions& options);

/// Shuts the worker of a volume in (EnterSandbox): its indexes stay writable; its certificates and the files
/// of its credentials stay readable.
absl::Status EnterWorkerSandbox(const VolumeSpec& spec);

}  // namespace bucketvol
