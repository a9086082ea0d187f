#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/telemetry/read_metrics.h"

namespace bucketvol {

/// What `bucketvol status` says of one mount. Plain values; the names are those of the JSON document, which
/// users script against: fields may be added, but none renamed, removed or given another unit.
struct StatusDocument {
  struct Processes {
    int64_t guard = 0;
    int64_t worker = 0;
    int64_t standby = 0;  // The worker that takes over when that one ends.
  };
  struct Index {
    uint64_t keys = 0;
    uint64_t files = 0;
    uint64_t directories = 0;
    uint64_t bytes = 0;
    std::map<std::string, uint64_t> skipped;  // By reason.
    std::string built_at;                     // RFC 3339, UTC, "…Z"; empty before the first index.
    double build_seconds = 0;
    uint64_t list_requests = 0;
    uint64_t list_streams_peak = 0;
    uint64_t image_bytes = 0;
    uint64_t table_bytes = 0;
  };
  struct Store {
    // By method: GET LIST HEAD PUT DELETE POST; all six are always in the document.
    std::map<std::string, uint64_t> requests;
    uint64_t bytes_in = 0;
    uint64_t bytes_out = 0;
    uint64_t retries = 0;
    uint64_t throttled = 0;
    uint64_t errors = 0;
    uint64_t in_flight = 0;
    uint64_t hedged = 0;   // Slow GETs that were sent a second time.
    uint64_t stalled = 0;  // GETs given up because no byte came any more.
  };
  struct Read {
    uint64_t requests = 0;
    uint64_t bytes = 0;
    uint64_t from_memory = 0;
    uint64_t from_disk = 0;
    uint64_t from_store = 0;
    uint64_t padding = 0;  // Zeros behind the ends of objects. `bytes` is the sum of these four.
    uint64_t streams = 0;
    uint64_t stale_objects = 0;
    uint64_t bad_checksums = 0;
    uint64_t timed_out = 0;
    uint64_t in_flight = 0;
    uint64_t errors = 0;
  };
  struct Memory {
    uint64_t budget = 0;  // For blocks of data.
    uint64_t used = 0;
    uint64_t limit = 0;    // Of the worker's cgroup; 0: none.
    uint64_t charged = 0;  // To that cgroup, page cache included,
    uint64_t peak = 0;     // and the most that ever was.
    uint64_t kills = 0;    // Workers that the kernel killed at the limit.
  };
  struct Cpu {
    double limit = 0;  // Cores that the worker's cgroup may use; 0: no limit.
    double used_seconds = 0;
    double throttled_seconds = 0;  // Time for which the limit held it up.
  };
  struct Cache {
    std::string dir;
    uint64_t capacity = 0;
    uint64_t used = 0;
  };

  std::string source;  // "oss://bucket/path"
  std::string mountpoint;
  std::vector<std::string> mountpoints;  // All of the source, in the order in which they came.
  std::string kind;                      // image, fuse
  std::string state;                     // ready, building, degraded, stopped
  std::string transport;                 // loop, file
  std::string index_fs;                  // erofs, ext4
  Processes pid;
  uint64_t worker_restarts = 0;
  Index index;
  Store store;
  Read read;
  Memory memory;
  Cpu cpu;
  Cache cache;
  std::string last_error;

  /// One line of JSON. Bytes that are not UTF-8 are replaced, so that it always parses.
  std::string ToJson() const;
  /// Several lines for people: aligned, with units.
  std::string ToText() const;
  /// Reads what ToJson wrote, of this version or another: unknown fields are ignored, missing ones keep their
  /// default. InvalidArgument: not a JSON object, or a field of another type.
  static absl::StatusOr<StatusDocument> FromJson(absl::string_view json);
};

/// Takes the counters as they are now.
StatusDocument::Read ReadStatus(const ReadMetrics& metrics);

}  // namespace bucketvol
