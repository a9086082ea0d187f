#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace bucketvol::bucketd {

/// Reads a size: a number and nothing, B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of
/// 1024).
absl::StatusOr<uint64_t> ParseSize(absl::string_view text);

/// Reads bytes per second: a size, with or without "/s". 0 means no cap.
absl::StatusOr<uint64_t> ParseRate(absl::string_view text);

/// Reads a time: a number and ms, s or m. A bare 0 is fine.
absl::StatusOr<absl::Duration> ParseDelay(absl::string_view text);

/// Reads a plain decimal number.
absl::StatusOr<uint64_t> ParseCount(absl::string_view text);

}  // namespace bucketvol::bucketd
