#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "mounter/guard/protocol.h"
#include "mounter/index/index_file.h"
#include "mounter/index/lister.h"
#include "mounter/objstore/store_metrics.h"
#include "mounter/options/volume_options.h"
#include "mounter/reader/reader.h"
#include "mounter/telemetry/read_metrics.h"

namespace bucketvol {

// The status document (JSON, one line): fields of the interface are only ever added. The worker writes what it knows; the
// command line adds what the guard knows.

/// What the worker has at hand; null pointers are parts that do not exist yet.
struct WorkerView {
  const VolumeOptions* options = nullptr;
  const IndexManifest* manifest = nullptr;
  const ListerProgress* listing = nullptr;
  const StoreMetrics* store = nullptr;
  const ReadMetrics* reads = nullptr;
  const Reader* reader = nullptr;
  std::string last_error;
};
std::string WorkerDocument(const WorkerView& view);

/// What the guard told of one mount.
struct GuardReport {
  GuardStatusBody body;
  std::string mount_point;
  std::string last_error;
  std::string document;  // Of the worker; may be empty or unreadable.
};
/// The whole document of a guarded mount. Fields that nobody knows are there, empty.
std::string MountDocument(const GuardReport& report);

/// The document of a mount that has lost its guard; `manifest` may be null.
std::string OrphanDocument(absl::string_view mount_point, absl::string_view transport, const IndexManifest* manifest);

/// What `bucketvol index show --json` prints of an index.
std::string IndexDocument(const IndexManifest& manifest);

/// A document as lines for people.
std::string DescribeMount(absl::string_view document);
std::string DescribeIndex(const IndexManifest& manifest);

}  // namespace bucketvol
