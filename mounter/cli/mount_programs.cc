#include "mounter/cli/mount_programs.h"

#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"

namespace bucketvol {
namespace {

// A program built with a sanitizer needs the loader that it was built for.
#ifdef BUCKETVOL_SANITIZED
constexpr bool kCopyPrograms = false;
#else
constexpr bool kCopyPrograms = true;
#endif

absl::StatusOr<Bundle> Provide(const std::string& state_dir, const std::string& program_directory) {
  ASSIGN_OR_RETURN(const std::vector<BundleFile> files, ProgramFiles(program_directory));
  const BundleStore bundles(state_dir);
  ASSIGN_OR_RETURN(Bundle bundle, bundles.Provide(files));
  bundles.Collect(bundle.directory());
  return bundle;
}

}  // namespace

std::optional<Bundle> CopyPrograms(const std::string& state_dir, std::string& program_directory,
                                   std::vector<std::string>& warnings) {
  if (!kCopyPrograms) return std::nullopt;
  auto bundle = Provide(state_dir, program_directory);
  if (!bundle.ok()) {
    warnings.push_back(
        absl::StrCat("mount runs from the installed programs, which an upgrade replaces; no copy: ",
                     bundle.status().message()));
    return std::nullopt;
  }
  program_directory = bundle->directory();
  return *std::move(bundle);
}

}  // namespace bucketvol
