#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "mounter/base/log.h"
#include "mounter/options/volume_options.h"
#include "mounter/reader/reader.h"

namespace bucketvol {

/// What a volume tells its reader.
ReaderSettings ReaderSettingsOf(const VolumeOptions& options, uint64_t memory_budget);

/// The level that a value of `log_level` names.
LogLevel LogLevelOf(absl::string_view name);

}  // namespace bucketvol
