#pragma once

#include <cstdint>

#include "mounter/reader/block_eviction.h"
#include "mounter/reader/memory_budget.h"

namespace bucketvol {

/// The memory of all blocks: a budget, and the READY blocks that make room in it.
///
/// Thread-safe. Reserve calls into CachedObjects: call it without locks.
class BlockMemory {
 public:
  explicit BlockMemory(uint64_t limit) : budget_(limit) {}

  /// Reserves `bytes`, evicting READY blocks as far as needed; false when even that does not make room.
  bool Reserve(uint64_t bytes, Reservation& out);
  Reservation ReserveBeyondLimit(uint64_t bytes) { return budget_.ReserveBeyondLimit(bytes); }
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
  BlockEviction eviction_;
};

}  // namespace bucketvol
