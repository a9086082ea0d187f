#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "mounter/base/byte_range.h"
#include "mounter/cache/block_buffer.h"
#include "mounter/cache/resident_list.h"
#include "mounter/objstore/object_store.h"
#include "mounter/prefetch/concurrency_limit.h"

namespace bucketvol {

class CachedObject;
struct PendingRead;

/// One GET, as the blocks it fills see it.
struct FetchHandle {
  ByteRange range;                             // Of the object.
  uint64_t gaps = 0;                           // Bytes of it that are no block's of this GET.
  Urgency urgency = Urgency::kDemand;          // Guarded by the lock of the object.
  SharedPurpose purpose{GetPurpose::kDemand};  // The same, for the store.
  std::optional<Urgency> counted_as;  // In the concurrency limit; guarded by the lock of the scheduler.
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
};

/// A block that is INFLIGHT or READY. (ABSENT blocks have no Block.) The lock of its object guards the state.
/// It keeps its object alive, and the object keeps it until it is dropped.
struct Block final : Resident {
  struct Waiter {
    std::shared_ptr<PendingRead> read;
    uint64_t needed;  // Wakes once this many bytes of the block are there.
  };

  Block(std::shared_ptr<CachedObject> of, ByteRange where, Of kind)
      : Resident(kind), object(std::move(of)), range(where) {}
  bool ready() const { return valid == range.size(); }
  void OnEvicted() override;

  const std::shared_ptr<CachedObject> object;
  const ByteRange range;   // Of the object.
  uint64_t valid = 0;      // READY when this is all.
  bool forgotten = false;  // The object has given it up before it was READY.
  uint16_t asked = 0;      // By sixteenths of a block: what reads have asked for so far.
  absl::InlinedVector<Waiter, 1> waiters;
  std::shared_ptr<FetchHandle> fetch;  // Null once READY.
  /// Set by the fetching thread before it publishes the first bytes; not guarded.
  std::optional<BlockBuffer> buffer;
  bool from_tier = false;  // As `buffer`: came from the tier below the memory.
};

/// The bytes of a block that lie in `part` of its object; they must be there.
inline absl::Span<const char> BytesOf(const Block& block, ByteRange part) {
  return block.buffer->bytes({std::max(part.begin, block.range.begin) - block.range.begin,
                              std::min(part.end, block.range.end) - block.range.begin});
}

}  // namespace bucketvol
