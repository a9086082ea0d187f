#include "mounter/prefetch/sequence_cursor.h"

#include <algorithm>

namespace bucketvol {

namespace {

constexpr uint64_t kNear = 8;
constexpr uint64_t kJudged = 32;  // Planned objects that are judged together.
constexpr uint64_t kLeastAhead = 2;
constexpr absl::Duration kStop = absl::Minutes(1);

}  // namespace

SequenceCursor::SequenceCursor(uint64_t ordinal, uint64_t ahead, absl::Duration now)
    : last_(ordinal),
      ahead_(ahead),
      planned_from_(ordinal + 1),
      planned_to_(ordinal + 1),
      grow_at_(ordinal + 1),
      judged_to_(ordinal + 1),
      stopped_until_(now),
      last_touch_(now) {}

std::optional<uint64_t> SequenceCursor::Distance(uint64_t ordinal) const {
  const uint64_t distance = ordinal > last_ ? ordinal - last_ : last_ - ordinal;
  const bool planned = planned_from_ <= ordinal && ordinal < planned_to_ && ordinal + kRing > planned_to_;
  if (!planned && distance > kNear + std::min(ahead_, used_)) return std::nullopt;
  return distance;
}

void SequenceCursor::MarkUsed(uint64_t ordinal) {
  used_planned_ = judged_to_ <= ordinal && ordinal < planned_to_ && unused_.test(ordinal % kRing);
  if (!used_planned_) return;
  unused_.reset(ordinal % kRing);
  ++used_;
  --outstanding_;
}

// Readers that go together overtake each other; what is well behind all of them is not going to be used.
void SequenceCursor::Judge(absl::Duration now) {
  const uint64_t late = kNear + 2 * most_behind_;
  const uint64_t end = std::min(planned_to_, last_ - std::min(last_, late));
  if (end < judged_to_ + kJudged) return;
  uint64_t wasted = 0;
  for (uint64_t ordinal = judged_to_; ordinal < end; ++ordinal) {
    if (!unused_.test(ordinal % kRing)) continue;
    unused_.reset(ordinal % kRing);
    ++wasted;
  }
  const uint64_t judged = end - judged_to_;
  judged_to_ = end;
  outstanding_ -= wasted;
  if (2 * wasted > judged) ahead_ = std::max(ahead_ / 2, kLeastAhead);
  if (5 * wasted > 4 * judged) stopped_until_ = now + kStop;
}

OrdinalRange SequenceCursor::PlanAhead(const Limits& limits) {
  // Where readers went on without us while we had stopped, nothing is planned any more.
  if (planned_to_ <= last_) planned_to_ = last_ + 1;
  const uint64_t end = std::min(limits.objects, last_ + 1 + ahead_);
  const uint64_t room = ahead_ - std::min(ahead_, outstanding_);
  const uint64_t count = std::min(end - std::min(end, planned_to_), room);
  const OrdinalRange range{planned_to_, count};
  for (uint64_t i = 0; i < count; ++i) unused_.set((range.first + i) % kRing);
  planned_to_ += count;
  outstanding_ += count;
  return range;
}

OrdinalRange SequenceCursor::Note(uint64_t ordinal, Stall stall, const Limits& limits, absl::Duration now) {
  last_touch_ = now;
  MarkUsed(ordinal);
  if (ordinal < last_) most_behind_ = std::max(most_behind_, std::min(last_ - ordinal, kRing / 8));
  last_ = std::max(last_, ordinal);
  Judge(now);
  if (now < stopped_until_) return {};
  if (stall == Stall::kInflight && ordinal >= grow_at_ && used_planned_) {
    ahead_ = std::min(2 * ahead_, limits.ahead);
    grow_at_ = planned_to_;
  }
  ahead_ = std::min(ahead_, limits.ahead);
  return PlanAhead(limits);
}

}  // namespace bucketvol
