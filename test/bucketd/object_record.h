#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "test/bucketd/bucket.h"

namespace bucketvol::bucketd {

/// What a directory-backed bucket keeps of one object.
struct ObjectRecord {
  ObjectMeta meta;       // An empty etag: the file's MD5, not computed yet.
  int64_t mtime_ns = 0;  // Of the file. Another time or size means that someone else has changed it.
  /// Empty: the file lies under the bucket's directory at the path that is the key. Else the name of the file
  /// in the area kept aside. "-": there is no file (symlinks).
  std::string aside;
};

inline constexpr absl::string_view kNoFile = "-";

/// The entry of the journal for `key`; nullptr for its removal.
///
/// Entry: varint length of key, key, one byte (0 removal, 1 object); for an object varints and strings
/// (varint length, bytes): size, mtime_ns, type, crc known (0/1), crc, etag, storage class, symlink target,
/// aside, number of headers, then name and value of each.
std::string EncodeRecord(absl::string_view key, const ObjectRecord* record);

struct DecodedRecord {
  std::string key;
  std::optional<ObjectRecord> record;  // nullopt: removal.
};
/// nullopt: not a whole entry of this version.
std::optional<DecodedRecord> DecodeRecord(absl::string_view bytes);

}  // namespace bucketvol::bucketd
