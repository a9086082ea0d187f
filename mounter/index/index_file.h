#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mounter/base/byte_range.h"
#include "mounter/base/file.h"
#include "mounter/index/index_report.h"

namespace bucketvol {

/// One range of the data address space: a block device of its own (an EROFS extra device).
struct DataDevice {
  uint64_t first_block = 0;  // EROFS `uniaddr`, in blocks of kBlockSize.
  uint64_t blocks = 0;       // Length, zero head and zero tail included.
};

/// What the manifest says of an index: enough to mount it and to report on it. FORMAT.md has the bytes.
struct IndexManifest {
  uint32_t version = 0;
  std::string source;      // "oss://bucket/path" and endpoint: what the index was made from.
  std::string endpoint;
  std::string prefix;      // Keys in the table begin after it.
  std::string options;     // The options that change what is seen ("umask=022,uid=0,…"); another value = another index.
  uint64_t meta_bytes = 0;
  bool needs_48bit = false;  // The image uses the 48-bit layout (Linux 6.15 and later).
  std::vector<DataDevice> devices;
  IndexReport report;
};

/// Files of an index inside its directory.
inline constexpr char kManifestName[] = "manifest";  // Written last: an index without it does not exist.
inline constexpr char kMetaName[] = "meta.erofs";    // The EROFS image, metadata only.
inline constexpr char kTableName[] = "objects";      // Address -> object.

/// Reads and checks a manifest (magic, version, checksum, sizes of the other files). `path`: the directory or the manifest.
/// FailedPrecondition: written by another version (rebuild it). DataLoss: damaged.
absl::StatusOr<IndexManifest> ReadIndexManifest(const std::string& path);

/// The object whose bytes lie at an address.
struct ObjectExtent {
  uint64_t row = 0;      // Position in key order among objects with data: neighbours in the tree are neighbours here.
  std::string key;       // Whole key, with the prefix.
  std::string etag;      // For If-Match, as the service wrote it.
  uint64_t size = 0;     // Of the object, bytes.
  uint32_t device = 0;
  uint64_t offset = 0;   // Where the object's first byte lies on the device, in bytes.
};

/// Maps device addresses to objects. Immutable and thread-safe once open; works on a mapping of the file.
class ObjectTable {
 public:
  static absl::StatusOr<std::unique_ptr<ObjectTable>> Open(const std::string& path);
  ~ObjectTable();

  /// The object that owns byte `offset` of `device`, or the first one after it; nullopt when none follows.
  /// Errors (DataLoss) only for a damaged table.
  absl::StatusOr<std::optional<ObjectExtent>> Find(uint32_t device, uint64_t offset) const;
  /// The object at a position in key order.
  absl::StatusOr<ObjectExtent> At(uint64_t row) const;
  uint64_t rows() const;

 private:
  struct Impl;
  explicit ObjectTable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bucketvol
