#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// Checks options against each other and derives what no word said: the whole url, region, signature and
/// addressing. `given` tells whether the user named a setting. Used by ParseVolumeOptions only.
absl::Status FinishOptions(const std::function<bool(absl::string_view)>& given, VolumeOptions& options);

}  // namespace bucketvol
