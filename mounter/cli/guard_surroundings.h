#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "mounter/base/unique_fd.h"
#include "mounter/bundle/bundle_store.h"
#include "mounter/cli/guard_launcher.h"
#include "mounter/cli/node_memory_files.h"
#include "mounter/cli/worker_limits.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// What a guard and its workers live in, apart from whoever starts them: a private copy of the programs, the
/// host's network, cgroups with the volume's limit, the node's account of memory. One that ends with its
/// command (KeepAttached::kYes) keeps the command's network and cgroup.
///
/// Lives until the guard has taken hold of them or has ended.
class GuardSurroundings {
 public:
  /// Makes them and writes them into `settings`, with warnings: of a copy that cannot be made, where the
  /// mount runs from the installed programs, of another network, and of memory that cannot be shared out. An
  /// error when a resource limit cannot be set.
  static absl::StatusOr<GuardSurroundings> Prepare(const VolumeOptions& options, GuardSettings& settings);

 private:
  std::optional<Bundle> programs_;
  UniqueFd network_;
  MountCgroups cgroups_;
  NodeMemoryFiles node_memory_;
};

}  // namespace bucketvol
