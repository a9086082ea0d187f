#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mounter/bundle/bundle_store.h"

namespace bucketvol {

/// Has a mount run from a private copy of this program (BundleStore): makes it where it is missing, points
/// `program_directory` to it, and removes copies of other versions that no mount runs from. Where that fails
/// `program_directory` stays and a warning says why. Keep the result until a guard has been told.
std::optional<Bundle> CopyPrograms(const std::string& state_dir, std::string& program_directory,
                                   std::vector<std::string>& warnings);

}  // namespace bucketvol
