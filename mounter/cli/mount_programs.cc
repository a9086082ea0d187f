#include "mounter/cli/mount_programs.h"

#include <vector>

#include "mounter/base/status_macros.h"

namespace bucketvol {

absl::StatusOr<Bundle> ProvidePrograms(const std::string& program_directory, const std::string& state_dir) {
  ASSIGN_OR_RETURN(const std::vector<BundleFile> files, ProgramFiles(program_directory));
  const BundleStore bundles(state_dir);
  ASSIGN_OR_RETURN(Bundle bundle, bundles.Provide(files));
  bundles.Collect(bundle.directory());
  return bundle;
}

}  // namespace bucketvol
