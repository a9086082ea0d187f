#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "mounter/bundle/bundle_store.h"

namespace bucketvol {

/// The private copy of this program that a mount is to run from (BundleStore), made where it is missing.
/// Removes copies of other versions that no mount runs from.
absl::StatusOr<Bundle> ProvidePrograms(const std::string& program_directory, const std::string& state_dir);

}  // namespace bucketvol
