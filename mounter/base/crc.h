#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace bucketvol {

/// CRC-32C (Castagnoli, reflected 0x82F63B78, initial and final value all ones; RFC 3720 B.4). `crc` is the
/// value so far, 0 at the start: Crc32c(Crc32c(0, a), b) equals Crc32c(0, ab). Uses the processor's
/// instruction where it has one.
uint32_t Crc32c(uint32_t crc, absl::string_view data);

/// CRC-64/XZ (ECMA-182 reflected, 0xC96C5795D7870F42, initial and final value all ones), the
/// `x-oss-hash-crc64ecma` of OSS. Chains like Crc32c.
uint64_t Crc64(uint64_t crc, absl::string_view data);

}  // namespace bucketvol
