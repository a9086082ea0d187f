#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "mounter/cgroup/held_cgroup.h"
#include "mounter/cgroup/usage.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// Lowers limits that are above the node's processors or memory. Adds a warning that says so.
void ClampLimits(VolumeOptions& options);

/// Where the guard and the worker of a mount are to live. Both are empty, for "where the caller does",
/// without a limit of the volume or of the node.
struct MountCgroups {
  HeldCgroup guard;
  HeldCgroup worker;
};

/// Makes the cgroups that a limit of the volume or of the node needs, and sets both; removes those that died
/// with their guards. An error when a limit was asked for and cannot be set.
absl::StatusOr<MountCgroups> MakeMountCgroups(const VolumeOptions& options, const std::string& mount_point);

/// Removes cgroups that nobody uses. Does nothing where there are none.
void CollectCgroups();

/// What the cgroup of a worker has used; zeros when it has none of its own.
CgroupUsage UsageOfWorker(pid_t worker);

}  // namespace bucketvol
