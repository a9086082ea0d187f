#include "mounter/cli/guard_surroundings.h"

#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/host_network.h"
#include "mounter/cli/mount_programs.h"

namespace bucketvol {
absl::StatusOr<GuardSurroundings> GuardSurroundings::Prepare(const VolumeOptions& options,
                                                             GuardSettings& settings) {
  GuardSurroundings made;
  made.programs_ = CopyPrograms(options.state_dir, settings.program_directory, settings.warnings);
  ASSIGN_OR_RETURN(made.cgroups_, MakeMountCgroups(options, settings.mount_point));
  settings.worker_cgroup = made.cgroups_.worker.directories();
  if (auto files = NodeMemoryFiles::Open(options.run_dir); files.ok())
    made.node_memory_ = *std::move(files);
  else
    settings.warnings.push_back(
        absl::StrCat("memory is not shared out among mounts: ", files.status().message()));
  settings.node_memory = made.node_memory_.Numbers();
  if (settings.attached == KeepAttached::kYes) return made;
  settings.guard_cgroup = made.cgroups_.guard.directories();
  made.network_ = FindHostNetwork();
  settings.network = made.network_.get();
  if (made.network_.valid())
    settings.warnings.push_back("mount uses the network of the host, not that of this container");
  return made;
}

}  // namespace bucketvol
