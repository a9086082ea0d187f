#include "mounter/prefetch/object_order.h"

#include <utility>

namespace bucketvol {

ObjectOrder::ObjectOrder(std::vector<uint32_t> ordinals)
    : ordinals_(std::move(ordinals)), slots_(ordinals_.size() + ordinals_.size() / 2 + 1) {
  uint64_t count = 0;
  for (const uint32_t ordinal : ordinals_) {
    uint32_t& slot = slots_[SlotOf(ordinal)];
    if (slot != 0) continue;
    ordinals_[count++] = ordinal;
    slot = static_cast<uint32_t>(count);
  }
  ordinals_.resize(count);
}

// The slot of an object, or the empty one where it would be. Neighbours in the index lie far apart.
uint64_t ObjectOrder::SlotOf(uint64_t ordinal) const {
  const auto mixed = static_cast<uint32_t>(ordinal * 0x9E3779B97F4A7C15 >> 32);
  uint64_t slot = mixed * slots_.size() >> 32;
  while (slots_[slot] != 0 && ordinals_[slots_[slot] - 1] != ordinal)
    slot = slot + 1 == slots_.size() ? 0 : slot + 1;
  return slot;
}

std::optional<uint64_t> ObjectOrder::PositionOf(uint64_t ordinal) const {
  const uint32_t found = slots_[SlotOf(ordinal)];
  if (found == 0) return std::nullopt;
  return found - 1;
}

}  // namespace bucketvol
