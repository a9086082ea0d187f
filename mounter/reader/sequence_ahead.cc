#include "mounter/reader/sequence_ahead.h"

#include <optional>
#include <utility>

namespace bucketvol {

SequenceAhead::SequenceAhead(const ObjectSequence& sequence, uint64_t most_bytes)
    : sequence_(sequence), most_bytes_(most_bytes), files_({.objects = sequence.size()}) {}

std::vector<ObjectId> SequenceAhead::OnTouch(uint64_t ordinal, Stall stall, absl::Duration now) {
  std::vector<OrdinalRange> ranges;
  {
    absl::MutexLock lock(&mu_);
    ranges = files_.OnOpen(ordinal, stall, now);
  }
  std::vector<ObjectId> objects;
  for (const OrdinalRange& range : ranges) {
    for (uint64_t i = 0; i < range.count; ++i) {
      std::optional<ObjectId> object = sequence_.At(range.first + i);
      if (object && object->size > 0 && object->size <= most_bytes_) objects.push_back(*std::move(object));
    }
  }
  return objects;
}

}  // namespace bucketvol
