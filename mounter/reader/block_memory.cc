#include "mounter/reader/block_memory.h"

#include <optional>

namespace bucketvol {

bool BlockMemory::Reserve(uint64_t bytes, Reservation& out) {
  if (bytes > budget_.limit()) return false;
  while (!budget_.TryReserve(bytes, out)) {
    const std::optional<BlockEviction::Entry> victim = eviction_.Take();
    if (!victim.has_value()) return false;
    victim->object->Drop(*victim->block);
  }
  return true;
}

void BlockMemory::Clear() {
  for (const BlockEviction::Entry& entry : eviction_.TakeAll()) entry.object->Drop(*entry.block);
}

}  // namespace bucketvol
