#include "mounter/cli/guard_surroundings.h"

#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/host_network.h"
#include "mounter/cli/mount_programs.h"

namespace bucketvol {
namespace {

// A program built with a sanitizer needs the loader that it was built for.
#ifdef BUCKETVOL_SANITIZED
constexpr bool kCopyPrograms = false;
#else
constexpr bool kCopyPrograms = true;
#endif

std::optional<Bundle> CopyPrograms(const VolumeOptions& options, GuardSettings& settings) {
  if (!kCopyPrograms) return std::nullopt;
  auto bundle = ProvidePrograms(settings.program_directory, options.state_dir);
  if (bundle.ok()) return *std::move(bundle);
  settings.warnings.push_back(
      absl::StrCat("mount runs from the installed programs, which an upgrade replaces; no copy: ",
                   bundle.status().message()));
  return std::nullopt;
}

}  // namespace

absl::StatusOr<GuardSurroundings> GuardSurroundings::Prepare(const VolumeOptions& options,
                                                             GuardSettings& settings) {
  GuardSurroundings made;
  made.programs_ = CopyPrograms(options, settings);
  if (made.programs_) settings.program_directory = made.programs_->directory();
  ASSIGN_OR_RETURN(made.cgroups_, MakeMountCgroups(options, settings.mount_point));
  settings.worker_cgroup = made.cgroups_.worker.directories();
  if (settings.attached == KeepAttached::kYes) return made;
  settings.guard_cgroup = made.cgroups_.guard.directories();
  made.network_ = FindHostNetwork();
  settings.network = made.network_.get();
  if (made.network_.valid())
    settings.warnings.push_back("mount uses the network of the host, not that of this container");
  return made;
}

}  // namespace bucketvol
