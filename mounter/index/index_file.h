#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/base/unique_fd.h"
#include "mounter/index/index_report.h"

namespace bucketvol {

/// Blocks of the image and of the data devices, in bytes.
inline constexpr uint64_t kIndexBlockBytes = 4096;

/// A block device of its own that holds objects (an EROFS extra device). They are given to mount(2) in their
/// order, with one `device=` option each. Offsets on it are relative to its beginning.
struct DataDevice {
  uint64_t first_block =
      0;  // Where it lies in the flat address space (EROFS `uniaddr`), or 0 when only chunks reach it.
  uint64_t blocks = 0;  // Length in kIndexBlockBytes, the zero MiB at its head and its tail included.
};

/// Of the manifest. Another version means: build the index again.
inline constexpr uint32_t kIndexVersion = 1;

/// What the manifest says of an index: enough to mount it and to report on it. FORMAT.md has the bytes.
struct IndexManifest {
  uint32_t version = 0;
  std::string build_id;  // 16 bytes, the same in all three files of one build.
  std::string source;    // "oss://bucket/path" and endpoint: what the index was made from.
  std::string endpoint;
  std::string prefix;  // Keys in the table begin after it.
  std::string
      options;  // The options that change what is seen ("umask=022,uid=0,…"); another value = another index.
  uint64_t meta_bytes = 0;
  bool needs_48bit = false;  // The image uses 48-bit block numbers (Linux 6.15 and later).
  std::vector<DataDevice> devices;
  IndexReport report;
};

/// Files of an index inside its directory.
inline constexpr char kManifestName[] = "manifest";  // Written last: an index without it does not exist.
inline constexpr char kMetaName[] = "meta.erofs";    // The EROFS image, metadata only.
inline constexpr char kTableName[] = "objects";      // Address -> object.

/// Reads and checks a manifest: magic, version, checksum, and that the other two files beside it have the
/// size and the build id it tells. `path`: the directory or the manifest. NotFound: there is no index.
/// FailedPrecondition: written by another version (rebuild it). DataLoss: damaged, or files of two builds.
absl::StatusOr<IndexManifest> ReadIndexManifest(const std::string& path);

/// The bytes of a manifest, and back (without looking at other files). Errors as above.
std::string EncodeIndexManifest(const IndexManifest& manifest);
absl::StatusOr<IndexManifest> DecodeIndexManifest(absl::string_view bytes);

/// The object whose bytes lie at an address.
struct ObjectExtent {
  uint64_t row =
      0;  // Position in key order among objects with data: neighbours in the tree are neighbours here.
  std::string key;    // Whole key, with the prefix.
  std::string etag;   // For If-Match, as the service wrote it.
  uint64_t size = 0;  // Of the object, bytes.
  uint32_t device = 0;
  uint64_t offset = 0;  // Where the object's first byte lies on the device, in bytes.
};

/// Maps device addresses to objects. Immutable and thread-safe once open. Reads its file at each call and
/// keeps little of it in memory: an I/O error of the disk, or a file that was cut, is the error of that call.
class ObjectTable {
 public:
  /// FailedPrecondition: written by another version. DataLoss: damaged.
  static absl::StatusOr<std::unique_ptr<ObjectTable>> Open(const std::string& path);
  /// `name` is for messages. Keeps a duplicate of the descriptor.
  static absl::StatusOr<std::unique_ptr<ObjectTable>> Open(const UniqueFd& fd, absl::string_view name);
  ~ObjectTable();

  /// The object that owns byte `offset` of `device`, or the first one after it; nullopt when none follows.
  /// Bytes between objects (zero head and tail, the rest of an object's last block) belong to none. DataLoss
  /// for a damaged table (each call verifies the block of 64 rows that it reads), or the disk's error.
  absl::StatusOr<std::optional<ObjectExtent>> Find(uint32_t device, uint64_t offset) const;
  /// The object at a position in key order.
  absl::StatusOr<ObjectExtent> At(uint64_t row) const;
  uint64_t rows() const;
  /// A checksum of all rows: of tables with the same rows it is the same, whatever the build. Reads the
  /// index of the table whole.
  absl::StatusOr<uint32_t> Checksum() const;
  const std::string& build_id() const;

 private:
  struct Impl;
  explicit ObjectTable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// An index opened for use. Its files belong to one build, whatever is published under their names meanwhile.
struct OpenIndex {
  IndexManifest manifest;
  UniqueFd meta;  // Read-only.
  std::unique_ptr<ObjectTable> table;
};

/// Opens the index in a directory. Errors as ReadIndexManifest.
absl::StatusOr<OpenIndex> OpenIndexDirectory(const std::string& directory);

/// What an index holds and what it left out, for people: one fact per line.
std::string IndexReportText(const IndexManifest& manifest);
/// The same as one JSON object; `skipped` maps reasons to counts, `examples` to keys (bytes that are not
/// UTF-8 escaped).
std::string IndexManifestJson(const IndexManifest& manifest);

}  // namespace bucketvol
