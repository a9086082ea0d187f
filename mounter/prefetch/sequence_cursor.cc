#include "mounter/prefetch/sequence_cursor.h"

#include <algorithm>

namespace bucketvol {

namespace {

constexpr uint64_t kNear = 8;
constexpr uint64_t kJudged = 32;  // Planned objects that are judged together.
constexpr uint64_t kLeastAhead = 2;
constexpr absl::Duration kStop = absl::Minutes(1);

}  // namespace

SequenceCursor::SequenceCursor(uint64_t ordinal, uint64_t ahead, uint64_t reordered, uint64_t touch)
    : begin_(ordinal),
      last_(ordinal),
      ahead_(ahead),
      planned_to_(ordinal + 1),
      grow_at_(ordinal + 1),
      judged_to_(ordinal + 1),
      most_behind_(std::min(reordered, kRing / 4)),
      last_touch_(touch) {}

std::optional<uint64_t> SequenceCursor::Distance(uint64_t ordinal) const {
  if (Unused(ordinal)) return 0;
  const uint64_t distance = ordinal > last_ ? ordinal - last_ : last_ - ordinal;
  if (distance > kNear + std::min(most_behind_, 4 * used_) + std::min(ahead_, used_)) return std::nullopt;
  return distance + 1;
}

void SequenceCursor::MarkUsed(uint64_t ordinal) {
  used_planned_ = Unused(ordinal);
  if (!used_planned_) return;
  unused_.reset(ordinal % kRing);
  ++used_;
  --outstanding_;
}

// Readers that go together overtake each other; what is well behind all of them is not going to be used.
void SequenceCursor::Judge(absl::Duration now) {
  const uint64_t late = kNear + 2 * most_behind_;
  const uint64_t end = std::min(planned_to_, last_ - std::min(last_, late));
  for (; judged_to_ < end; ++judged_to_) {
    const size_t place = judged_to_ % kRing;
    judged_planned_ += planned_.test(place) ? 1 : 0;
    judged_unused_ += unused_.test(place) ? 1 : 0;
    outstanding_ -= unused_.test(place) ? 1 : 0;
    planned_.reset(place);
    unused_.reset(place);
  }
  if (judged_planned_ < kJudged) return;
  if (2 * judged_unused_ > judged_planned_) ahead_ = std::max(ahead_ / 2, kLeastAhead);
  if (5 * judged_unused_ > 4 * judged_planned_) stopped_until_ = now + kStop;
  judged_planned_ = judged_unused_ = 0;
}

void SequenceCursor::Note(const Touch& touch, const Limits& limits) {
  last_touch_ = touch.number;
  const uint64_t ordinal = touch.ordinal;
  MarkUsed(ordinal);
  if (ordinal < last_) most_behind_ = std::max(most_behind_, std::min(last_ - ordinal, kRing / 4));
  last_ = std::max(last_, ordinal);
  // Where readers went on without us, nothing is planned any more.
  planned_to_ = std::max(planned_to_, last_ + 1);
  Judge(touch.now);
  if (touch.stall == Stall::kInflight && ordinal >= grow_at_ && used_planned_) {
    ahead_ *= 2;
    grow_at_ = planned_to_;
  }
  ahead_ = std::min(ahead_, limits.ahead);
}

void SequenceCursor::Absorb(const SequenceCursor& other) {
  const uint64_t begin = std::max(judged_to_, other.judged_to_);
  const uint64_t end = std::min(other.planned_to_, judged_to_ + kRing);
  for (uint64_t ordinal = begin; ordinal < end; ++ordinal) {
    const size_t place = ordinal % kRing;
    if (!other.planned_.test(place) || planned_.test(place)) continue;
    planned_.set(place);
    unused_.set(place, other.unused_.test(place));
    outstanding_ += other.unused_.test(place) ? 1 : 0;
  }
  const uint64_t apart = last_ > other.last_ ? last_ - other.last_ : other.last_ - last_;
  most_behind_ = std::max({most_behind_, other.most_behind_, std::min(apart, kRing / 4)});
  begin_ = std::min(begin_, other.begin_);
  last_ = std::max(last_, other.last_);
  planned_to_ = std::max({planned_to_, last_ + 1, std::min(other.planned_to_, judged_to_ + kRing)});
  ahead_ = std::max(ahead_, other.ahead_);
  used_ += other.used_;
  last_touch_ = std::max(last_touch_, other.last_touch_);
}

OrdinalRange SequenceCursor::Plan(const Limits& limits, absl::Duration now) {
  const uint64_t end = std::min(limits.objects, last_ + 1 + ahead_);
  const uint64_t room = now < stopped_until_ ? 0 : ahead_ - std::min(ahead_, outstanding_);
  const uint64_t count = std::min(end - std::min(end, planned_to_), room);
  const OrdinalRange range{planned_to_, count};
  for (uint64_t i = 0; i < count; ++i) {
    planned_.set((range.first + i) % kRing);
    unused_.set((range.first + i) % kRing);
  }
  planned_to_ += count;
  outstanding_ += count;
  return range;
}

}  // namespace bucketvol
