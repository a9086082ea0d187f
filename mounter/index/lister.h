#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "mounter/base/clock.h"
#include "mounter/base/executor.h"
#include "mounter/index/listing_sink.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

struct ListerSettings {
  std::string prefix;
  int page_keys = 1000;        // 1…1000
  int min_streams = 16;        // First number of requests in flight.
  int max_streams = 128;       // Adaptive up to this; equal to min_streams: fixed.
  uint64_t memory_bytes = 64 << 20;  // Keys that wait for their turn beyond this go to the spill file.
  std::string spill_directory;  // An unnamed temporary file is made here.
  std::vector<std::string> hints;  // Keys at which to split at first, e.g. from an earlier build. May be wrong.
};

/// What goes on, for progress lines and the status document. Readable by any thread.
struct ListerProgress {
  std::atomic<uint64_t> keys{0};
  std::atomic<uint64_t> requests{0};
  std::atomic<uint32_t> streams{0};
  std::atomic<uint32_t> streams_peak{0};
};

/// Lists every key under a prefix with many requests at once, by work-stealing bisection of the key space with start-after,
/// and hands them to the sink in key order.
///
/// Keys that exist during the whole listing appear exactly once; keys written or deleted meanwhile may or may not appear.
/// Keys out of order or repeated by the service are detected: the page is asked for again, and after three times the
/// listing fails. Memory is bounded by the settings whatever the bucket's size. Blocks the caller until the end.
class Lister {
 public:
  /// Borrows everything for its own life. `executor` has at least one thread that may parse pages.
  Lister(ObjectStore& store, const Clock& clock, Executor& executor, ListerSettings settings);
  ~Lister();

  /// Runs once. Cancelled when `cancellation` fires; the first error of the service or of the sink otherwise.
  absl::Status Run(ListingSink& sink, std::shared_ptr<Cancellation> cancellation);

  const ListerProgress& progress() const;
  /// After a successful run: keys that split the bucket into about equal parts, at most 1,024.
  std::vector<std::string> Boundaries() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bucketvol
