#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "mounter/base/byte_range.h"
#include "mounter/objstore/object_store.h"
#include "mounter/reader/buffer_pool.h"
#include "mounter/reader/memory_budget.h"

namespace bucketvol {

struct PendingRead;

/// The bytes of one block and their checksums. Filled once, front to back, by one thread; then constant.
///
/// Readers may use the bytes below a length that the filling thread has published under a lock.
class BlockBuffer {
 public:
  /// One checksum covers this much: what a small read must verify at most beside its own bytes.
  static constexpr uint64_t kChecksumBytes = 64 << 10;

  /// `memory` holds `bytes` (≥ 1), for which `reservation` pays.
  BlockBuffer(uint64_t bytes, BufferPool::Buffer memory, Reservation reservation);

  void Append(absl::Span<const char> data);
  uint64_t filled() const { return filled_; }
  absl::Span<const char> bytes(ByteRange range) const { return {data_.get() + range.begin, range.size()}; }
  /// Whether the bytes of `range` are those that arrived. Only for a full buffer.
  bool Verify(ByteRange range) const;

 private:
  const uint64_t size_;
  const Reservation reservation_;
  const BufferPool::Buffer data_;
  uint64_t filled_ = 0;
  std::vector<uint32_t> checksums_;  // CRC-32C of each kChecksumBytes; the last one grows while filling.
};

/// One GET, as the blocks it fills see it.
struct FetchHandle {
  ByteRange range;          // Of the object.
  bool for_readers = true;  // False: nobody waited for it when it began.
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
};

/// A block that is INFLIGHT or READY. (ABSENT blocks have no Block.) The lock of its object guards the state.
struct Block {
  struct Waiter {
    std::shared_ptr<PendingRead> read;
    uint64_t needed;  // Wakes once this many bytes of the block are there.
  };

  explicit Block(ByteRange where) : range(where) {}
  bool ready() const { return valid == range.size(); }

  const ByteRange range;  // Of the object.
  uint64_t valid = 0;     // READY when this is all.
  std::vector<Waiter> waiters;
  std::shared_ptr<const FetchHandle> fetch;
  /// Set by the fetching thread before it publishes the first bytes; not guarded.
  std::shared_ptr<BlockBuffer> buffer;
  /// Read since the eviction's hand came by. Not guarded.
  std::atomic<bool> recently_used{false};
};

}  // namespace bucketvol
