#include "mounter/reader/sequence_ahead.h"

#include <optional>
#include <utility>

namespace bucketvol {

SequenceAhead::SequenceAhead(const ObjectSequence& sequence, uint64_t most_bytes)
    : sequence_(sequence), most_bytes_(most_bytes), files_({.objects = sequence.size()}) {}

// An order that readers follow explains their touches: the order of the index does not see them.
std::vector<uint64_t> SequenceAhead::Plan(uint64_t ordinal, Stall stall, absl::Duration now) {
  std::vector<uint64_t> ahead;
  absl::MutexLock lock(&mu_);
  if (touches_.size() < kMostTouches && ordinal <= UINT32_MAX)
    touches_.push_back(static_cast<uint32_t>(ordinal));
  for (OrderFollower* order : {told_.get(), recorded_.get()}) {
    if (order != nullptr && order->OnTouch(ordinal, stall, now, ahead)) return ahead;
  }
  for (const OrdinalRange& range : files_.OnOpen(ordinal, stall, now)) {
    for (uint64_t i = 0; i < range.count; ++i) ahead.push_back(range.first + i);
  }
  return ahead;
}

std::vector<ObjectId> SequenceAhead::OnTouch(uint64_t ordinal, Stall stall, absl::Duration now) {
  std::vector<ObjectId> objects;
  for (const uint64_t next : Plan(ordinal, stall, now)) {
    std::optional<ObjectId> object = sequence_.At(next);
    if (object && object->size > 0 && object->size <= most_bytes_) objects.push_back(*std::move(object));
  }
  return objects;
}

void SequenceAhead::Follow(std::shared_ptr<const ObjectOrder> order, OrderTrust trust) {
  auto follower = std::make_unique<OrderFollower>(std::move(order), trust);
  absl::MutexLock lock(&mu_);  // What was followed before is freed without it.
  (trust == OrderTrust::kAtFirst ? told_ : recorded_).swap(follower);
}

std::vector<uint32_t> SequenceAhead::TakeTouches() {
  absl::MutexLock lock(&mu_);
  return std::exchange(touches_, {});
}

}  // namespace bucketvol
