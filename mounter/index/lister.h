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
  int page_keys = 1000;              // 1…1000
  int min_streams = 16;              // Least number of requests in flight, when the service asks for fewer.
  int max_streams = 128;             // Adaptive up to this; equal to min_streams: fixed.
  uint64_t memory_bytes = 64 << 20;  // Keys that wait for their turn beyond this go to the spill file.
  std::string
      spill_directory;  // An unnamed temporary file is made here; empty: none, the lister waits instead.
  uint64_t spill_bytes = 8ull << 30;  // Limit of that file: beyond it the lister waits for the sink.
  std::vector<std::string>
      hints;                   // Keys at which to split at first, e.g. from an earlier build. May be wrong.
  uint64_t keys_per_hint = 0;  // From one hint to the next; 0: unknown. May be wrong.
  int first_streams = 32;      // First number of requests in flight; kept between the other two.
};

/// What goes on, for progress lines and the status document. Readable by any thread.
struct ListerProgress {
  std::atomic<uint64_t> keys{0};
  std::atomic<uint64_t> requests{0};
  std::atomic<uint32_t> streams{0};
  std::atomic<uint32_t> streams_peak{0};
};

/// Lists every key under a prefix with many requests at once, by work-stealing bisection of the key space
/// with start-after, and hands them to the sink in key order.
///
/// Keys that exist during the whole listing appear exactly once; keys written or deleted meanwhile may or may
/// not appear. Keys out of order or repeated by the service are detected: the page is asked for again, and
/// after three times the listing fails. Memory is bounded by the settings whatever the bucket's size. Blocks
/// the caller until the end.
///
/// The sink is called by the thread that called Run; asking goes on meanwhile. Most pages arrive before their
/// turn and wait: packed in memory, then in the spill file, and when that is full as well the lister asks for
/// no more until the sink has taken some. Keys are those of UTF-8 byte order; a service that lists in another
/// order is an error.
class Lister {
 public:
  /// Borrows everything for its own life. `executor` has at least one thread that may look at pages and write
  /// to the spill file; it still exists when Run returns, and may hold delayed tasks that do nothing then.
  Lister(ObjectStore& store, const Clock& clock, Executor& executor, ListerSettings settings);
  ~Lister();

  /// Runs once. Cancelled when `cancellation` (may be null) fires; the first error of the service or of the
  /// sink otherwise, ResourceExhausted when the spill file finds the disk full, DataLoss when the service
  /// lists what cannot be. When it returns, no request is in flight and no callback runs.
  absl::Status Run(ListingSink& sink, std::shared_ptr<Cancellation> cancellation);

  const ListerProgress& progress() const;
  /// After a successful run: keys that split the bucket into about equal parts, at most 1,024.
  std::vector<std::string> Boundaries() const;
  /// How many keys there are from one boundary to the next.
  uint64_t BoundaryDistance() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bucketvol
