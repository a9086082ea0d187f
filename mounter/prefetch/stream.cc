#include "mounter/prefetch/stream.h"

#include <algorithm>
#include <bit>

#include "mounter/prefetch/parts.h"

namespace bucketvol {

namespace {

constexpr uint64_t kDemandAlign = 64 << 10;
constexpr uint64_t kLeastDemand = 256 << 10;
constexpr uint64_t kMostDemand = 1 << 20;
// A candidate becomes a stream when its run is longer: random reads of up to 1 MiB never are.
constexpr uint64_t kDecidingRun = 1 << 20;
constexpr uint64_t kCandidateReach = 1 << 20;
constexpr uint64_t kLeastBack = 4 << 20;
constexpr uint64_t kLeastForward = 8 << 20;
// Of a part that is read as a whole, this much is fetched at its first touch.
constexpr uint64_t kPartWindow = 16 << 20;

uint64_t AlignDown(uint64_t value, uint64_t to) { return value - value % to; }
uint64_t AlignUp(uint64_t value, uint64_t to) { return AlignDown(value + to - 1, to); }

}  // namespace

Stream::Stream(const StreamSettings& settings, uint64_t size, std::optional<uint64_t> part_end,
               const StreamRead& read)
    : settings_(&settings),
      size_(size),
      part_end_(part_end),
      begin_(read.range.begin),
      expected_(read.range.begin),
      planned_(AlignDown(read.range.begin, kDemandAlign)),
      window_(settings.window_start),
      last_use_(read.now) {}

// Reads overtake each other, so they may be a little behind. A descending reader is at the lower end of its
// run.
std::optional<uint64_t> Stream::Distance(ByteRange read) const {
  if (read.begin < begin_ && read.end <= begin_ && begin_ - read.end <= kDemandAlign)
    return begin_ - read.end;
  // A candidate is no reason to believe in far ones.
  const uint64_t back = std::max(settings_->readahead_bytes, promoted_ ? kLeastBack : kCandidateReach);
  const uint64_t forward = promoted_ ? std::max(kLeastForward, window_.bytes()) : kCandidateReach;
  if (read.begin + back < expected_ || read.begin > expected_ + forward) return std::nullopt;
  return read.begin > expected_ ? read.begin - expected_ : expected_ - read.begin;
}

void Stream::Note(const StreamRead& read, Plan& plan) {
  if (Lost(read)) expected_ = planned_ = read.range.begin;
  const uint64_t before = expected_;
  Advance(read);
  const uint64_t advance = expected_ - before;
  OpenWindow(advance > 0, read, plan);
  PlanDemand(read, plan);
  if (!active()) return;
  NoteWindow(read, advance);
  PlanAhead(read, plan);
}

void Stream::NoteWindow(const StreamRead& read, uint64_t advance) {
  const uint64_t part = PartBytes(read.link, settings_->part_max) / static_cast<uint64_t>(read.sharing);
  window_.Note({advance, planned_ > expected_ ? planned_ - expected_ : 0, read.stall, read.window_limit,
                std::max(part, kMinPartBytes), read.now},
               read.link);
}

// Whether what was planned for the read never came, or was dropped before it was read.
bool Stream::Lost(const StreamRead& read) const {
  return promoted_ && read.stall == Stall::kAbsent && read.range.begin >= begin_ &&
         read.range.end <= planned_;
}

void Stream::Advance(const StreamRead& read) {
  last_use_ = read.now;
  ++reads_;
  const bool descent = reads_ > 1 && read.range.begin < begin_ && read.range.end <= begin_;
  descents_ = descent ? descents_ + 1 : 0;
  bytes_ += read.range.size();
  begin_ = std::min(begin_, read.range.begin);
  expected_ = std::max(expected_, read.range.end);
  // The kernel reads a little beyond the end of what somebody wants.
  if (part_end_ && expected_ > *part_end_ + 2 * settings_->readahead_bytes) part_end_.reset();
}

void Stream::OpenWindow(bool went_on, const StreamRead& read, Plan& plan) {
  if (active()) return;
  if (promoted_) return window_.Open(settings_->window_start, read.now);
  const bool goes_on = reads_ > 1 && went_on && std::min(run(), bytes_) > kDecidingRun;
  if (!goes_on && !part_end_) return;
  Promote(part_end_ ? kPartWindow : std::min(settings_->window_start, run()), read.now);
  plan.new_stream = true;
}

void Stream::Promote(uint64_t window, absl::Duration now) {
  promoted_ = true;
  window_.Open(window, now);
}

// The run of a candidate is fetched in lengths that double, so that reads of up to 1 MiB bring little more
// than themselves.
uint64_t Stream::CandidateEnd(ByteRange read) const {
  const uint64_t begin = AlignDown(begin_, kDemandAlign);
  const uint64_t length = std::clamp(std::bit_ceil(read.end - begin), kLeastDemand, kMostDemand);
  return std::max(begin + length, AlignUp(read.end, kDemandAlign));
}

uint64_t Stream::DemandEnd(ByteRange read) const {
  const uint64_t end = promoted_ ? AlignUp(read.end, kMostDemand) : CandidateEnd(read);
  return end + kLeastDemand >= size_ ? size_ : end;
}

void Stream::PlanDemand(const StreamRead& read, Plan& plan) {
  plan.demand = read.range;
  if (read.stall != Stall::kNone && read.range.end > planned_) {
    plan.demand.begin =
        std::max(AlignDown(read.range.begin, kDemandAlign), std::min(planned_, read.range.begin));
    plan.demand.end = DemandEnd(read.range);
  }
  planned_ = std::max(planned_, plan.demand.end);
}

void Stream::PlanAhead(const StreamRead& read, Plan& plan) {
  const uint64_t window = std::min(read.window_limit, window_.bytes());
  if (window < kMinPartBytes) return;
  const uint64_t last = std::min(part_end_.value_or(size_), read.next_run);
  const uint64_t end = std::min(last, expected_ + window);
  const uint64_t begin = std::max(planned_, expected_);
  if (begin >= end) return;
  const uint64_t part = PartBytes(read.link, settings_->part_max, window);
  planned_ =
      CutIntoParts({begin, end}, end == last ? RangeEnd::kFixed : RangeEnd::kOpen, part, size_, plan.ahead);
}

ByteRange Stream::Abandon() {
  const ByteRange rest{expected_, std::max(expected_, planned_)};
  planned_ = std::min(planned_, expected_);
  window_.Close();
  return rest;
}

}  // namespace bucketvol
