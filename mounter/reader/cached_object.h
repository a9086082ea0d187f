#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "mounter/base/byte_range.h"
#include "mounter/cache/memory_tier.h"
#include "mounter/prefetch/format_hints.h"
#include "mounter/prefetch/link_estimate.h"
#include "mounter/prefetch/stall.h"
#include "mounter/prefetch/stream_table.h"
#include "mounter/reader/block.h"
#include "mounter/reader/object_id.h"
#include "mounter/reader/pending_read.h"
#include "mounter/reader/window_share.h"

namespace bucketvol {

/// The blocks of one object, who waits for them, and the streams of its readers.
///
/// Thread-safe. Runs no callback and calls nobody: it returns what its caller has to see to.
class CachedObject : public std::enable_shared_from_this<CachedObject> {
 public:
  using Blocks = absl::InlinedVector<std::shared_ptr<Block>, 2>;
  using Reads = absl::InlinedVector<std::shared_ptr<PendingRead>, 4>;
  using Handles = absl::InlinedVector<std::shared_ptr<FetchHandle>, 1>;

  /// One GET for blocks that were ABSENT and are INFLIGHT now. They may have gaps between them, of blocks
  /// that are READY: the GET brings those, too, and they are thrown away.
  struct Run {
    std::shared_ptr<FetchHandle> fetch;
    Blocks blocks;
  };
  using Runs = absl::InlinedVector<Run, 1>;

  struct Geometry {
    uint64_t block_bytes;
    uint64_t fetch_bytes;  // Longest GET.
    StreamSettings streams;
  };
  /// What a read meets.
  struct Situation {
    LinkEstimate link;
    const WindowShare* share = nullptr;
    uint64_t gap = 0;          // Longest gap that one GET for the read may bring again.
    bool room_for_all = true;  // Whether there is memory for the whole of a small object.
    bool link_idle = false;    // Whether several GETs at once take nothing from others.
    absl::Duration now;
  };
  /// How streams and what they keep ahead became more or less.
  struct StreamsChange {
    int64_t streams = 0;
    int64_t ahead = 0;
  };
  /// What a read leaves its caller to do.
  struct Joined {
    Runs runs;                     // To be fetched for it.
    std::vector<ByteRange> ahead;  // To be fetched with nobody waiting.
    Handles raised;                // Fetches that nobody waited for until now.
    absl::InlinedVector<MemoryTier::Touch, 2> touches;
    Stall stall = Stall::kNone;
    bool first_touch = false;   // Nobody has read this object before, as far as is known.
    bool first_stream = false;  // From here on the object has streams to look after.
    uint64_t new_streams = 0;   // Begun by this read.
    StreamsChange change;
  };

  CachedObject(ObjectId id, const Geometry& geometry);

  const ObjectId& id() const { return id_; }
  /// Whether it is fetched and kept as a whole.
  bool is_small() const { return id_.size <= geometry_.streams.whole_object_bytes; }

  uint64_t block_bytes() const { return geometry_.block_bytes; }
  uint64_t LongestBlock() const { return std::min(id_.size, geometry_.block_bytes); }
  /// How many blocks a range (not empty) touches.
  uint64_t BlocksOf(ByteRange range) const {
    return (range.end - 1) / geometry_.block_bytes - range.begin / geometry_.block_bytes + 1;
  }

  /// Makes `read` wait for every block of its range that is not there, and takes it down one more reason
  /// (`missing` + 1) that the caller drops when it has started the fetches. What is ABSENT and shall be
  /// fetched for the read becomes INFLIGHT.
  Joined Join(const std::shared_ptr<PendingRead>& read, const Situation& situation);
  /// Bytes that the hints about the object's format want to look at. Whoever takes them gives the hints back.
  struct Glimpse {
    std::unique_ptr<FormatHints> hints;
    ByteRange range;
    Blocks blocks;
  };
  /// Whether there may be a glimpse.
  bool has_hints() const { return has_hints_.load(std::memory_order_acquire); }
  /// The next place that hints want and that is READY; nullopt when there is none now.
  std::optional<Glimpse> TakeGlimpse();
  /// Takes the hints back, with what they told of the parts of the object.
  void ReturnHints(std::unique_ptr<FormatHints> hints, std::vector<uint64_t> boundaries);
  /// Makes the ABSENT blocks of `range` INFLIGHT with nobody waiting.
  Runs Claim(ByteRange range);
  /// Appends the parts of `range`, cut to the object, whose blocks are ABSENT: whole blocks, ascending.
  void AppendAbsent(ByteRange range, std::vector<ByteRange>& out) const;

  /// Whether bytes of version `etag` belong to this object: the version of its id or, where that names none,
  /// the one that came first.
  bool AcceptVersion(absl::string_view etag);
  /// Says that all bytes of `full` and `valid` bytes of `partial` (may be null) are there; returns the reads
  /// that have all they wait for. Leaves those in `full` that the object still has.
  Reads Advance(Blocks& full, Block* partial, uint64_t valid);
  /// Makes those blocks ABSENT that are not READY; returns the reads that waited for them.
  Reads Fail(absl::Span<const std::shared_ptr<Block>> blocks);
  /// Takes a read off its blocks. Returns the fetches that nobody needs now and that are less than half done;
  /// their blocks are ABSENT.
  Handles Leave(const PendingRead& read);
  /// Whether somebody waits for what the fetch brings.
  Urgency UrgencyOf(const FetchHandle& fetch) const;

  /// Makes a READY block ABSENT, unless it is so already.
  void Drop(const Block& block);
  /// Makes every READY block ABSENT and returns them.
  Blocks DropReady();
  /// Makes READY blocks ABSENT of which every byte was asked for: all of a small object at once, as soon as
  /// that is true of all of them; of a large one those that `read` used.
  Blocks DropDelivered(const PendingRead& read);

  struct Abandoned {
    std::vector<ByteRange> ranges;  // That nobody will read.
    Blocks blocks;                  // READY ones among them, ABSENT now.
    Handles fetches;                // To be cancelled; their blocks are ABSENT.
    StreamsChange change;
    int active = 0;  // Streams that are left.
  };
  /// Gives up what was fetched for streams that nobody follows any more.
  Abandoned Abandon(absl::Duration now);
  /// When it was read last.
  absl::Duration last_read() const;

  /// Whether something of it waits in the queue of what shall be fetched ahead; told by that queue. Returns
  /// what was so before.
  bool SetQueued(bool queued) { return queued_.exchange(queued, std::memory_order_relaxed); }
  bool queued() const { return queued_.load(std::memory_order_relaxed); }
  /// Counts bytes that were delivered, for the sharing of memory and link; TakeConsumed begins anew.
  void AddConsumed(uint64_t bytes) { consumed_.fetch_add(bytes, std::memory_order_relaxed); }
  uint64_t TakeConsumed() { return consumed_.exchange(0, std::memory_order_relaxed); }

 private:
  using BlockMap = absl::flat_hash_map<uint64_t, std::shared_ptr<Block>>;  // By position.

  uint64_t IndexOf(const Block& block) const { return block.range.begin / geometry_.block_bytes; }
  ByteRange RangeOf(uint64_t index) const;
  uint16_t PiecesOf(const Block& block, ByteRange read) const;
  Stall StallLocked(ByteRange read) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  ByteRange PlanLocked(ByteRange read, const Situation& situation, Joined& joined)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void BeginStreamsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Blocks ReadyLocked(ByteRange range) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void WaitLocked(const std::shared_ptr<PendingRead>& read, Joined& joined)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  BlockRead TouchLocked(Block& block, ByteRange read) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// What one GET may be.
  struct GetShape {
    uint64_t longest;
    uint64_t gap;
  };
  GetShape ShapeOf(ByteRange demand, const Situation& situation) const;
  bool FitsLocked(const Block& block, const FetchHandle& fetch, const GetShape& shape) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  Runs ClaimLocked(ByteRange range, Urgency urgency, const GetShape& shape)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool UnwantedLocked(const FetchHandle& fetch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ForgetLocked(const FetchHandle& fetch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  StreamsChange ChangeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AbandonLocked(ByteRange range, Abandoned& out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AllAskedLocked(const Block& block) const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  const ObjectId id_;
  const Geometry& geometry_;  // Of the registry.
  std::atomic<uint64_t> consumed_{0};
  std::atomic<bool> queued_{false};
  std::atomic<bool> has_hints_{false};
  mutable absl::Mutex mu_;  // Leaf. Guards the state of the blocks, too.
  BlockMap blocks_ ABSL_GUARDED_BY(mu_);
  std::string version_
      ABSL_GUARDED_BY(mu_);  // The first that came, where the id names none; empty: none came.
  std::optional<StreamTable> streams_ ABSL_GUARDED_BY(mu_);  // Of a large object, once it is read.
  std::unique_ptr<FormatHints> hints_ ABSL_GUARDED_BY(mu_);  // Null: none, nothing more to tell, or taken.
  StreamsChange noted_ ABSL_GUARDED_BY(mu_);                 // Sum of the changes told so far.
  bool touched_ ABSL_GUARDED_BY(mu_) = false;
  absl::Duration last_read_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
