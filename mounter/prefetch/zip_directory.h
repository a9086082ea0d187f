#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "mounter/base/byte_range.h"

namespace bucketvol {

/// Reads the directory at the end of a ZIP archive, with 64-bit extensions
/// (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3.12 to 4.3.16). Archives that end with a
/// comment are not read: those of torch.save and numpy.savez never do.
class ZipDirectory {
 public:
  /// The end of an archive that tells where the directory is: a record of 64-bit archives, its locator, and
  /// the last record of all.
  static constexpr uint64_t kEndBytes = 56 + 20 + 22;
  static constexpr uint64_t kMaxBytes = 16 << 20;

  /// Whether an archive begins so.
  static bool BeginsOne(absl::string_view first_bytes) { return first_bytes.substr(0, 4) == "PK\3\4"; }
  /// The range of the directory, told by the last kEndBytes of an object; nullopt when there is none, or it
  /// is longer than kMaxBytes.
  static std::optional<ByteRange> Range(absl::string_view last_bytes, uint64_t object_size);
  /// The offsets where members begin, and that of the directory, as JoinSmallParts leaves them. `directory`
  /// holds the bytes of `range`. nullopt when it is malformed.
  static std::optional<std::vector<uint64_t>> Boundaries(absl::string_view directory, ByteRange range);
};

}  // namespace bucketvol
