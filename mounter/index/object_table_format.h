#pragma once

#include <cstdint>

#include "mounter/index/sealed_file.h"

// The bytes of the object table; FORMAT.md describes them.
namespace bucketvol::table_format {

// The header with the key prefix is sealed.
inline constexpr SealedFormat kFormat = {"object table", "BVOBJTBL", 1};

inline constexpr uint64_t kRowsPerBlock = 64;

// Header fields. The key prefix follows the header, the first block of rows follows the prefix.
inline constexpr size_t kBuildIdAt = kSealedHeadBytes;
inline constexpr size_t kBuildIdBytes = 16;
inline constexpr size_t kRowsAt = 32;
inline constexpr size_t kIndexOffsetAt = 40;
inline constexpr size_t kDevicesAt = 48;
inline constexpr size_t kPrefixBytesAt = 52;
inline constexpr size_t kHeaderBytes = 56;

// An index entry: where a block begins in the file, its checksum, and each device's cursor in blocks.
inline constexpr size_t kEntryChecksumAt = 8;
inline constexpr size_t kEntryCursorsAt = 12;
inline constexpr size_t EntryBytes(size_t devices) { return kEntryCursorsAt + 8 * devices; }

// The first byte of a row: kind of ETag in the low three bits, device in the others.
inline constexpr unsigned kEtagKindBits = 3;

}  // namespace bucketvol::table_format
