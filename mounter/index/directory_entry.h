#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "mounter/base/coding.h"

namespace bucketvol {

/// One name in a directory, on its way from the listing to the image.
struct DirectoryEntry {
  absl::string_view name;  // At most 255 bytes.
  uint64_t nid = 0;        // EROFS inode number.
  bool directory = false;
  bool archived = false;
};

/// The packed form: eight bytes (number in 48 bits, flags, length of the name), then the name.
inline constexpr size_t kEntryHeader = 8;

inline uint64_t PackEntryHeader(const DirectoryEntry& entry) {
  return entry.nid | uint64_t{entry.directory} << 48 | uint64_t{entry.archived} << 49 |
         uint64_t{entry.name.size()} << 56;
}

inline size_t EntryBytes(const char* packed) { return kEntryHeader + (LoadLittle<uint64_t>(packed) >> 56); }

/// `packed` holds the whole entry, of EntryBytes bytes.
inline DirectoryEntry UnpackEntry(const char* packed) {
  const auto header = LoadLittle<uint64_t>(packed);
  DirectoryEntry entry;
  entry.nid = header & ((uint64_t{1} << 48) - 1);
  entry.directory = (header >> 48 & 1) != 0;
  entry.archived = (header >> 49 & 1) != 0;
  entry.name = absl::string_view(packed + kEntryHeader, header >> 56);
  return entry;
}

}  // namespace bucketvol
