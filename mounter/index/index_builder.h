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
  bool allow_48bit = true;  // Whether this kernel can mount the 48-bit layout.
  absl::Time now;           // Build time: stored, and the mtime of directories that have no marker.
};

/// Turns a sorted listing into an index: EROFS metadata image, object table, manifest.
///
/// Streams: holds the stack of open directories and bounded buffers, whatever the number of keys. Writes to temporary
/// names in the directory (unlinked by the destructor unless Finish succeeded) and publishes all files at once at the end;
/// an index that was there before stays valid until then. One thread at a time.
///
/// Errors: InvalidArgument for keys out of order or outside the prefix; OutOfRange when the objects need more address
/// space than the layouts allowed offer; ResourceExhausted for a full disk.
class IndexBuilder : public ListingSink {
 public:
  static absl::StatusOr<std::unique_ptr<IndexBuilder>> Create(IndexBuildSettings settings);

  /// Finishes and publishes. `listing` gives list_requests, list_streams_peak and build_time for the report.
  virtual absl::StatusOr<IndexManifest> Finish(const IndexReport& listing) = 0;
  virtual uint64_t keys() const = 0;
};

}  // namespace bucketvol
