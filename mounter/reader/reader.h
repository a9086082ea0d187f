#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "mounter/base/byte_range.h"
#include "mounter/base/clock.h"
#include "mounter/objstore/object_store.h"
#include "mounter/reader/object_id.h"
#include "mounter/telemetry/read_metrics.h"

namespace bucketvol {

/// What a read brings along on its way down.
struct ReadContext {
  std::shared_ptr<Cancellation> cancellation;  // Of this read alone; may be null.
};

/// Where the bytes of a read came from.
struct ReadOrigin {
  uint64_t memory = 0;  // Were there.
  uint64_t disk = 0;    // Came from the disk cache.
  uint64_t store = 0;   // Were waited for.
};

/// Bytes lent by the core. They stay as they are while `owner` is held, and count against its memory that
/// long.
struct Slice {
  std::shared_ptr<const void> owner;
  absl::Span<const char> bytes;
};

/// The answer to a read: all bytes of the range, in order.
struct ReadData {
  std::vector<Slice> slices;
  ReadOrigin origin;
};

using ReadCallback = absl::AnyInvocable<void(absl::StatusOr<ReadData>) &&>;

struct ReaderSettings {
  std::string bucket_url;  // "oss://bucket", for messages.
  uint64_t memory_bytes = 128 << 20;
  uint64_t block_bytes = 1 << 20;         // Unit of state, memory and eviction.
  uint64_t whole_object_bytes = 8 << 20;  // Objects up to this size are fetched whole at the first touch.
  uint64_t fetch_bytes = 8 << 20;         // Longest GET. A multiple of block_bytes.
  uint64_t readahead_bytes = 8 << 20;     // Kept ahead of a sequential reader of a larger object. 0: none.
  // Fetches that readers wait for and that start even though the memory is used up: this keeps everybody
  // going.
  int fetches_beyond_memory = 16;
  absl::Duration stale_recheck = absl::Seconds(10);  // A stale object costs one request per this time.
};

/// The read core: the only door to the data of objects.
///
/// An object is cut into blocks, each ABSENT, INFLIGHT or READY. However many reads wait for a block, it is
/// fetched once; a read wakes when its own bytes have arrived, not when the fetch ends. READY blocks stay in
/// memory within the budget, with a checksum of what arrived that every later read verifies. A failed fetch
/// is an error for those who wait, and the block is ABSENT again. Every GET is for the one version of the
/// object that the ObjectId names; an object found to be another one is stale: its reads fail
/// (FailedPrecondition, or NotFound) and no byte of it is served any more.
///
/// Thread-safe. No lock is held while the store, a callback or a copy runs.
class Reader {
 public:
  /// Borrows `store`, `clock` and `metrics` for its own life.
  Reader(ObjectStore& store, const Clock& clock, ReadMetrics& metrics, ReaderSettings settings);
  /// Cancels what is in flight and waits for it; reads that still wait get Cancelled. No call may come
  /// meanwhile.
  ~Reader();

  /// Reads `range` of an object. `done` is called exactly once: inside this call if all bytes are in memory,
  /// else by the thread of the store that brought the last of them. It must not block. OutOfRange when
  /// `range` ends behind the object. A read that is cancelled gets Cancelled at once, and a fetch that nobody
  /// needs any more is given up; `done` must not use the Cancellation.
  void Read(const ObjectId& object, ByteRange range, const ReadContext& context, ReadCallback done);

  /// Starts to fetch what is absent of `range`, cut to the object, without anybody waiting for it. Does
  /// nothing when the memory for it cannot be had: what readers wait for goes first.
  void Prefetch(const ObjectId& object, ByteRange range);

  struct Memory {
    uint64_t limit = 0;
    uint64_t used = 0;  // Blocks in memory, in flight, and lent.
  };
  Memory memory() const;
  /// GETs in flight.
  size_t fetches_in_flight() const;
  /// The last error of a fetch, for the status document; empty when there was none.
  std::string last_error() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bucketvol
