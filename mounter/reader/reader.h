#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "mounter/base/byte_range.h"
#include "mounter/base/clock.h"
#include "mounter/base/executor.h"
#include "mounter/cache/block_tier.h"
#include "mounter/cache/node_share.h"
#include "mounter/objstore/congestion.h"
#include "mounter/objstore/object_store.h"
#include "mounter/prefetch/concurrency_limit.h"
#include "mounter/prefetch/object_order.h"
#include "mounter/prefetch/stream_table.h"
#include "mounter/reader/object_id.h"
#include "mounter/reader/object_sequence.h"
#include "mounter/telemetry/read_metrics.h"

namespace bucketvol {

/// What a read brings along on its way down.
struct ReadContext {
  std::shared_ptr<Cancellation> cancellation = nullptr;  // Of this read alone; may be null.
  std::optional<uint64_t> ordinal = std::nullopt;        // Of the object, in ReaderHelpers::sequence.
};

/// Where the bytes of a read came from.
struct ReadOrigin {
  uint64_t memory = 0;  // Were there.
  uint64_t disk = 0;    // Came from ReaderHelpers::tier.
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
  absl::InlinedVector<Slice, 2> slices;
  ReadOrigin origin;
};

using ReadCallback = absl::AnyInvocable<void(absl::StatusOr<ReadData>) &&>;

enum class Caching {
  kOn,
  kOff,  // Nothing is fetched ahead, and bytes stay only until they were delivered once.
};

struct ReaderSettings {
  std::string bucket_url;  // "oss://bucket", for messages.
  Caching caching = Caching::kOn;
  uint64_t memory_bytes = 128 << 20;
  // Unit of state, memory, checksum and eviction. A power of two.
  uint64_t block_bytes = 64 << 10;
  uint64_t fetch_bytes = 8 << 20;  // Longest GET. A multiple of block_bytes.
  // What of memory is kept of blocks that a stream has passed. See MemoryTier.
  uint64_t passed_bytes = 32 << 20;
  // By how much fetches that readers wait for may exceed the memory: this keeps everybody going.
  uint64_t beyond_memory_bytes = 32 << 20;
  StreamSettings streams;  // Also says which objects are small: fetched whole at the first touch.
  ConcurrencySettings concurrency;
  absl::Duration stale_recheck = absl::Seconds(10);  // A stale object costs one request per this time.
  uint64_t large_reply_bytes = 256 << 10;  // From here on a reply is worth a hop to ReaderHelpers::replies.
};

/// What a reader may use beside its store. Borrowed; all may be null.
struct ReaderHelpers {
  // Delivers large answers, so that the thread of the store goes on reading.
  Executor* replies = nullptr;
  // What may be fetched ahead of readers that take object after object.
  const ObjectSequence* sequence = nullptr;
  // Asked for what is not in memory before the store is, and offered what comes from there.
  BlockTier* tier = nullptr;
  // What other mounts of the node leave of its memory.
  NodeShare* node = nullptr;
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
/// State belongs to the object, whoever reads it. Streams of reads are recognised and fetched ahead of, and
/// so are readers that take small objects in the order of ReaderHelpers::sequence, or in an order that
/// FollowOrder told. What somebody waits for always goes first.
///
/// Thread-safe. No lock is held while the store, a callback or a copy runs.
class Reader {
 public:
  /// Borrows `store`, `clock`, `metrics` and the helpers for its own life.
  Reader(ObjectStore& store, const Clock& clock, ReadMetrics& metrics, ReaderSettings settings,
         ReaderHelpers helpers = {});
  /// Cancels what is in flight and waits for it; reads that still wait get Cancelled. No call may come
  /// meanwhile.
  ~Reader();

  /// Reads `range` of an object. `done` is called exactly once: inside this call if all bytes are in memory,
  /// else by the thread of the store that brought the last of them, or by the executor for replies. It must
  /// not block. OutOfRange when `range` ends behind the object. A read that is cancelled gets Cancelled at
  /// once, and a fetch that nobody needs any more is given up; `done` must not use the Cancellation.
  void Read(const ObjectId& object, ByteRange range, const ReadContext& context, ReadCallback done);

  /// Has what is absent of `range`, cut to the object, fetched without anybody waiting for it, when memory
  /// and link allow: what readers wait for goes first.
  void Prefetch(const ObjectId& object, ByteRange range);

  /// Expects readers to take small objects in this order, too; it replaces one of the same trust. Its
  /// ordinals are those of ReaderHelpers::sequence. Without effect where nothing is fetched ahead.
  void FollowOrder(std::shared_ptr<const ObjectOrder> order, OrderTrust trust);
  /// The small objects that were read for the first time, as far as is known, since the last call, in that
  /// order. What nobody takes for long is forgotten. None where nothing is fetched ahead.
  std::vector<uint32_t> TakeTouches();

  /// Gives memory back that nobody has used for long, and gives up what streams that have ended left behind.
  /// Call it about once a second.
  void Tick();

  struct Memory {
    uint64_t limit = 0;
    uint64_t used = 0;    // Blocks in memory, in flight, and lent.
    uint64_t mapped = 0;  // Held from the kernel for them.
  };
  Memory memory() const;
  /// GETs in flight.
  size_t fetches_in_flight() const;
  /// Hears what the store is told of the load, for less to be asked of it at a time. May be kept for longer
  /// than the reader.
  std::shared_ptr<CongestionObserver> congestion_observer() const;
  /// The last error of a fetch, for the status document; empty when there was none.
  std::string last_error() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace bucketvol
