#include "mounter/prefetch/order_recorder.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace bucketvol {

namespace {

constexpr uint64_t kLeastObjects = 64;  // Fewer are no order worth keeping.

}  // namespace

OrderRecorder::OrderRecorder(uint64_t objects, uint64_t most) : most_(most), touched_(objects) {}

// Says whether it was not marked.
bool OrderRecorder::Mark(uint32_t ordinal) {
  if (touched_[ordinal] || count_ == most_) return false;
  touched_[ordinal] = true;
  ++count_;
  return true;
}

OrderRecorder::Step OrderRecorder::Add(uint32_t ordinal) {
  if (ordinal >= touched_.size()) return {};
  recent_[touches_++ % kRemembered] = ordinal;
  repeats_ = repeats_ << 1 | (touched_[ordinal] ? 1 : 0);
  if (std::popcount(repeats_) >= kRepeatedAtEnd) return BeginEpoch();
  return Mark(ordinal) ? Step{false, {ordinal}} : Step{};
}

// With the repetitions that told of it.
OrderRecorder::Step OrderRecorder::BeginEpoch() {
  const uint64_t repeats = std::exchange(repeats_, 0);
  touched_.assign(touched_.size(), false);
  count_ = 0;
  Step step{true, {}};
  for (uint64_t ago = kRemembered; ago-- > 0;) {
    const uint32_t ordinal = recent_[(touches_ - 1 - ago) % kRemembered];
    if ((repeats >> ago & 1) != 0 && Mark(ordinal)) step.added.push_back(ordinal);
  }
  return step;
}

void OrderRecorder::Resume(absl::Span<const uint32_t> ordinals) {
  for (const uint32_t ordinal : ordinals) {
    if (ordinal < touched_.size()) Mark(ordinal);
  }
}

bool TakesPlaceOf(const RecordedEpoch& made, const RecordedEpoch& kept) {
  if (made.objects < kLeastObjects) return false;
  if (kept.of_this_run || 2 * made.followed >= made.objects) return made.objects > kept.objects;
  return 4 * made.objects >= 3 * kept.objects;
}

}  // namespace bucketvol
