#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "mounter/base/byte_range.h"
#include "mounter/reader/block.h"
#include "mounter/reader/object_id.h"
#include "mounter/reader/pending_read.h"
#include "mounter/reader/sequential_stream.h"

namespace bucketvol {

/// The blocks of one object and who waits for them.
///
/// Thread-safe. Runs no callback and calls nobody: it returns the reads and fetches that its caller has to
/// see to.
class CachedObject {
 public:
  /// What a read or prefetch leaves its caller to do: one GET per run of blocks that were ABSENT and are
  /// INFLIGHT now.
  struct Run {
    std::shared_ptr<const FetchHandle> fetch;
    std::vector<std::shared_ptr<Block>> blocks;
  };
  struct Joined {
    std::vector<Run> runs;
    ByteRange ahead;          // What a sequential reader will want next; empty if nothing.
    bool new_stream = false;  // This read made a stream.
  };
  struct Geometry {
    uint64_t block_bytes;
    uint64_t fetch_bytes;
    uint64_t readahead_bytes;
  };

  CachedObject(ObjectId id, Geometry geometry)
      : id_(std::move(id)), geometry_(geometry), version_(id_.etag) {}

  const ObjectId& id() const { return id_; }

  /// Makes `read` wait for every block of its range that is not there, and takes it down one more reason
  /// (`missing` + 1) that the caller drops when it has started the fetches. Blocks of `fetch` (which holds
  /// the read's range) that are ABSENT become INFLIGHT.
  Joined Join(const std::shared_ptr<PendingRead>& read, ByteRange fetch);
  /// Makes the ABSENT blocks of `range` INFLIGHT with nobody waiting.
  std::vector<Run> Claim(ByteRange range);

  /// Whether bytes of version `etag` belong to this object: the version of its id or, where that names none,
  /// the one that came first.
  bool AcceptVersion(absl::string_view etag);
  /// Says that `valid` bytes of a block are there; returns the reads that have all they wait for.
  std::vector<std::shared_ptr<PendingRead>> Advance(Block& block, uint64_t valid);
  /// Makes those blocks ABSENT that are not READY; returns the reads that waited for them.
  std::vector<std::shared_ptr<PendingRead>> Fail(const std::vector<std::shared_ptr<Block>>& blocks);
  /// Takes a read off its blocks. Returns the fetches that nobody needs now and that are less than half done;
  /// their blocks are ABSENT.
  std::vector<std::shared_ptr<const FetchHandle>> Leave(const PendingRead& read);
  /// Whether somebody waits for one of the blocks.
  bool Wanted(const std::vector<std::shared_ptr<Block>>& blocks) const;

  /// Makes a READY block ABSENT, unless it is so already.
  void Drop(const Block& block);
  /// Makes every READY block ABSENT.
  void DropReady();

 private:
  uint64_t IndexOf(const Block& block) const { return block.range.begin / geometry_.block_bytes; }
  ByteRange RangeOf(uint64_t index) const;
  std::vector<Run> ClaimLocked(ByteRange range, bool for_readers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool UnwantedLocked(const FetchHandle& fetch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const ObjectId id_;
  const Geometry geometry_;
  mutable absl::Mutex mu_;  // Leaf. Guards the state of the blocks, too.
  absl::flat_hash_map<uint64_t, std::shared_ptr<Block>> blocks_ ABSL_GUARDED_BY(mu_);  // By position.
  std::string version_ ABSL_GUARDED_BY(mu_);  // Of the id, or the first that came; empty: none came yet.
  SequentialStream stream_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
