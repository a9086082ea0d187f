#pragma once

#include <string>

#include "absl/status/status.h"
#include "mounter/cli/guard_finder.h"
#include "mounter/cli/guard_launcher.h"
#include "mounter/options/volume_spec.h"

namespace bucketvol {

/// Has the worker of a mount use the credentials of `spec` (nothing else of it counts), once the service has
/// accepted them. An error when it refuses them: nothing changes then.
absl::Status SendCredentials(const GuardProcess& guard, const VolumeSpec& spec);

/// Has a guard that gave up its workers start them again: those of a private copy of this program, with the
/// spec of `settings`, kept in `state_dir`.
absl::Status SendRevival(const GuardProcess& guard, GuardSettings settings, const std::string& state_dir);

}  // namespace bucketvol
