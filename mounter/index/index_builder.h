#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mounter/index/index_file.h"
#include "mounter/index/listing_sink.h"

namespace bucketvol {

struct IndexBuildSettings {
  std::string directory;  // Where the index appears; made if missing.
  std::string source;
  std::string endpoint;
  std::string options;
  std::string prefix;     // "" or ending in "/". Every key begins with it.
  uint32_t umask = 0022;  // Files 0666, directories 0777, less these bits.
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool allow_48bit = true;  // Whether this kernel can mount 48-bit block numbers (Linux 6.15 and later).
  size_t memory_bytes = 8 << 20;  // For names of open directories, three times; beyond it they go to a file.
  absl::Time now;                 // Build time: stored, and the mtime of directories that have no marker.
};

/// Turns a sorted listing into an index: EROFS metadata image, object table, manifest.
///
/// Which key becomes what: docs/keys.md. Streams: holds the stack of open directories and bounded buffers,
/// whatever the number of keys. Writes files that have no name (nothing to clean up after a crash) and
/// publishes them at the end; an index that was there before stays valid until then, and whoever has opened
/// it keeps it. One thread at a time.
///
/// Errors end the build: InvalidArgument for keys out of order or outside the prefix; OutOfRange when the
/// objects need more address space than images have (without 48-bit numbers about 140 TiB, and 16 TiB for one
/// object; with them 4 PiB a device and 1 PiB for one object); ResourceExhausted for a full disk.
class IndexBuilder : public ListingSink {
 public:
  static absl::StatusOr<std::unique_ptr<IndexBuilder>> Create(IndexBuildSettings settings);

  /// Finishes and publishes. `listing` gives list_requests, list_streams_peak and build_time for the report.
  virtual absl::StatusOr<IndexManifest> Finish(const IndexReport& listing) = 0;
  virtual uint64_t keys() const = 0;
};

}  // namespace bucketvol
