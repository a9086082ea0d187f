#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "mounter/reader/block.h"
#include "mounter/reader/block_eviction.h"
#include "mounter/reader/buffer_pool.h"
#include "mounter/reader/memory_budget.h"

namespace bucketvol {

/// The memory of all blocks: a budget, and the READY blocks that make room in it.
///
/// Thread-safe. Reserve calls into CachedObjects: call it without locks.
class BlockMemory {
 public:
  /// Beside `limit`, up to a sixteenth of it is kept for the next blocks of `block_bytes`.
  BlockMemory(uint64_t limit, uint64_t block_bytes)
      : budget_(limit), pool_(block_bytes, std::min<uint64_t>(limit / 16 / block_bytes, 16)) {}

  /// Reserves `bytes`, evicting READY blocks as far as needed; false when even that does not make room.
  bool Reserve(uint64_t bytes, Reservation& out);
  Reservation ReserveBeyondLimit(uint64_t bytes) { return budget_.ReserveBeyondLimit(bytes); }
  std::shared_ptr<BlockBuffer> MakeBuffer(uint64_t bytes, Reservation reservation) {
    return std::make_shared<BlockBuffer>(bytes, pool_.Get(bytes), std::move(reservation));
  }
  /// Notes a block that became READY.
  void Keep(BlockEviction::Entry entry) { eviction_.Add(std::move(entry)); }
  /// Evicts READY blocks until the limit holds again, as far as that is possible.
  void Trim();
  /// Evicts all.
  void Clear();

  const MemoryBudget& budget() const { return budget_; }

 private:
  bool EvictOne();

  MemoryBudget budget_;
  BufferPool pool_;
  BlockEviction eviction_;
};

}  // namespace bucketvol
