#include "mounter/reader/block_memory.h"

#include <optional>

namespace bucketvol {

bool BlockMemory::EvictOne() {
  const std::optional<BlockEviction::Entry> victim = eviction_.Take();
  if (victim.has_value()) victim->object->Drop(*victim->block);
  return victim.has_value();
}

bool BlockMemory::Reserve(uint64_t bytes, Reservation& out) {
  if (bytes > budget_.limit()) return false;
  while (!budget_.TryReserve(bytes, out)) {
    if (!EvictOne()) return false;
  }
  return true;
}

void BlockMemory::Trim() {
  while (budget_.used() > budget_.limit() && EvictOne()) {
  }
}

void BlockMemory::Clear() {
  for (const BlockEviction::Entry& entry : eviction_.TakeAll()) entry.object->Drop(*entry.block);
}

}  // namespace bucketvol
