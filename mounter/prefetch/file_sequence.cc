#include "mounter/prefetch/file_sequence.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "mounter/prefetch/sequence_cursor.h"

namespace bucketvol {

namespace {

constexpr size_t kCursors = 256;
constexpr size_t kMostCandidates = 256;
// One touch in as many comes behind a candidate by chance.
constexpr uint64_t kByChance = 32;
// A successor counts however many other readers came between. A touch that is only near counts if it comes
// soon: near places are found by chance, too.
constexpr uint64_t kNear = 3;
constexpr uint64_t kSoon = 24;

struct Candidate {
  uint64_t last = 0;     // Highest ordinal touched.
  uint64_t touched = 0;  // When, in touches.
  int touches = 0;
};

}  // namespace

class FileSequence::Impl {
 public:
  explicit Impl(const FileSequenceSettings& settings)
      : settings_(settings),
        most_candidates_(std::clamp<size_t>(settings.objects / kByChance, 8, kMostCandidates)) {}

  std::vector<OrdinalRange> OnOpen(uint64_t ordinal, Stall stall, absl::Duration now);
  uint64_t fetched() const { return fetched_; }
  uint64_t used() const { return used_; }

 private:
  SequenceCursor* Match(uint64_t ordinal);
  SequenceCursor* Decide(uint64_t ordinal);
  Candidate* MatchCandidate(uint64_t ordinal);
  void AddCandidate(uint64_t ordinal);
  SequenceCursor* AddCursor(SequenceCursor cursor);
  SequenceCursor* Merge(SequenceCursor* cursor);
  bool Lately(const SequenceCursor& cursor) const;
  uint64_t AheadLimit() const;

  const FileSequenceSettings settings_;
  const size_t most_candidates_;
  std::vector<SequenceCursor> cursors_;
  std::vector<Candidate> candidates_;
  uint64_t touches_ = 0;
  uint64_t fetched_ = 0;
  uint64_t used_ = 0;
};

SequenceCursor* FileSequence::Impl::Match(uint64_t ordinal) {
  SequenceCursor* best = nullptr;
  uint64_t least = UINT64_MAX;
  for (SequenceCursor& cursor : cursors_) {
    const std::optional<uint64_t> distance = cursor.Distance(ordinal);
    if (!distance || *distance >= least) continue;
    least = *distance;
    best = &cursor;
  }
  return best;
}

Candidate* FileSequence::Impl::MatchCandidate(uint64_t ordinal) {
  Candidate* near = nullptr;
  for (Candidate& candidate : candidates_) {
    if (ordinal == candidate.last + 1) return &candidate;
    const uint64_t distance = ordinal > candidate.last ? ordinal - candidate.last : candidate.last - ordinal;
    if (distance <= kNear && touches_ - candidate.touched <= kSoon) near = &candidate;
  }
  return near;
}

void FileSequence::Impl::AddCandidate(uint64_t ordinal) {
  const Candidate candidate{ordinal, touches_, 1};
  if (candidates_.size() < most_candidates_) return candidates_.push_back(candidate);
  *std::min_element(candidates_.begin(), candidates_.end(),
                    [](const Candidate& a, const Candidate& b) { return a.touched < b.touched; }) = candidate;
}

SequenceCursor* FileSequence::Impl::AddCursor(SequenceCursor cursor) {
  if (cursors_.size() < kCursors) return &cursors_.emplace_back(std::move(cursor));
  SequenceCursor& oldest = *std::min_element(
      cursors_.begin(), cursors_.end(),
      [](const SequenceCursor& a, const SequenceCursor& b) { return a.last_touch() < b.last_touch(); });
  oldest = std::move(cursor);
  return &oldest;
}

// Takes a touch that no cursor knows; returns the cursor that it makes.
SequenceCursor* FileSequence::Impl::Decide(uint64_t ordinal) {
  if (settings_.deciding_touches <= 1)
    return AddCursor(SequenceCursor(ordinal, settings_.first_ahead, settings_.reordered, touches_));
  Candidate* candidate = MatchCandidate(ordinal);
  if (candidate == nullptr) {
    AddCandidate(ordinal);
    return nullptr;
  }
  candidate->touches += ordinal != candidate->last ? 1 : 0;
  candidate->last = std::max(candidate->last, ordinal);
  candidate->touched = touches_;
  if (candidate->touches < settings_.deciding_touches) return nullptr;
  const uint64_t last = candidate->last;
  *candidate = candidates_.back();
  candidates_.pop_back();
  return AddCursor(SequenceCursor(last, settings_.first_ahead, settings_.reordered, touches_));
}

// What another cursor has planned is on its way. A cursor that has nothing left to plan because of another
// one follows the same readers: they become one. Returns the one that stays.
SequenceCursor* FileSequence::Impl::Merge(SequenceCursor* cursor) {
  SequenceCursor* before = nullptr;  // Has planned what this one would.
  uint64_t next = cursor->next();
  for (SequenceCursor& other : cursors_) {
    if (&other == cursor || !Lately(other) || !other.Covers(next)) continue;
    before = &other;
    next = other.next();
  }
  if (before == nullptr) return cursor;
  cursor->SkipTo(next);
  if (!cursor->full()) return cursor;
  before->Absorb(*cursor);
  if (before == &cursors_.back()) before = cursor;
  *cursor = cursors_.back();
  cursors_.pop_back();
  return before;
}

// Whether its readers have their turn now and then.
bool FileSequence::Impl::Lately(const SequenceCursor& cursor) const {
  return touches_ - cursor.last_touch() < kSoon + 4 * cursors_.size();
}

uint64_t FileSequence::Impl::AheadLimit() const {
  const auto active = std::count_if(cursors_.begin(), cursors_.end(),
                                    [&](const SequenceCursor& cursor) { return Lately(cursor); });
  const uint64_t share = settings_.total_ahead / static_cast<uint64_t>(std::max<long>(active, 1));
  return std::min(settings_.max_ahead, std::max(share, settings_.first_ahead));
}

std::vector<OrdinalRange> FileSequence::Impl::OnOpen(uint64_t ordinal, Stall stall, absl::Duration now) {
  ++touches_;
  SequenceCursor* cursor = Match(ordinal);
  if (cursor == nullptr) cursor = Decide(ordinal);
  if (cursor == nullptr) return {};
  const SequenceCursor::Limits limits{AheadLimit(), settings_.objects};
  cursor->Note({ordinal, stall, touches_, now}, limits);
  const bool used = cursor->used_planned();
  const OrdinalRange range = Merge(cursor)->Plan(limits, now);
  used_ += used ? 1 : 0;
  fetched_ += range.count;
  if (range.count == 0) return {};
  return {range};
}

FileSequence::FileSequence(FileSequenceSettings settings) : impl_(std::make_unique<Impl>(settings)) {}
FileSequence::~FileSequence() = default;
FileSequence::FileSequence(FileSequence&&) noexcept = default;
FileSequence& FileSequence::operator=(FileSequence&&) noexcept = default;

std::vector<OrdinalRange> FileSequence::OnOpen(uint64_t ordinal, Stall stall, absl::Duration now) {
  return impl_->OnOpen(ordinal, stall, now);
}
uint64_t FileSequence::fetched() const { return impl_->fetched(); }
uint64_t FileSequence::used() const { return impl_->used(); }

}  // namespace bucketvol
