#include "mounter/objstore/hedge_policy.h"

#include <algorithm>
#include <bit>

namespace bucketvol {
namespace {

constexpr double kUsual = 0.95;
constexpr double kTimesMedian = 3;
constexpr double kNearlyAlways = 0.999;
// Below so many samples the last of a thousand is not known.
constexpr double kTailSamples = 200;
// What is not spent adds up: slow requests come in bursts.
constexpr double kMostSpendable = 16;
constexpr double kKeptForReaders = 4;
// A verdict counts half as much after 64 others.
constexpr double kVerdictDecay = 0.98923;
// One slow request among few is no outage.
constexpr double kBearableInAnyCase = 1.5;
constexpr absl::Duration kShortestLook = absl::Milliseconds(2);
constexpr absl::Duration kLongestLook = absl::Milliseconds(50);

}  // namespace

HedgePolicy::HedgePolicy(const HedgeSettings& settings) : settings_(settings) { Refresh(); }

size_t HedgePolicy::ClassOf(uint64_t size) {
  return std::min(static_cast<size_t>(std::bit_width(size >> 14)), kSizeClasses - 1);
}

void HedgePolicy::OnBegin() { spendable_ = std::min(kMostSpendable, spendable_ + settings_.budget); }

void HedgePolicy::OnByte(GetProgress& progress, absl::Duration now) {
  const absl::Duration waited = now - progress.last_byte;
  if (progress.answered) {
    gap_tail_.Add(waited);
  } else {
    first_byte_.Add(waited);
    first_byte_tail_.Add(waited);
  }
  progress.answered = true;
  progress.last_byte = now;
}

void HedgePolicy::OnWhole(const GetProgress& progress, absl::Duration now) {
  classes_[ClassOf(progress.size)].whole.Add(now - progress.begun);
}

// It would have taken at least so long.
void HedgePolicy::OnGivenUp(const GetProgress& progress, absl::Duration now) {
  classes_[ClassOf(progress.size)].whole.Add(now - progress.begun);
  if (!progress.answered) first_byte_.Add(now - progress.begun);
}

void HedgePolicy::OnVerdict(bool slow) {
  slow_ = slow_ * kVerdictDecay + (slow ? 1 : 0);
  judged_ = judged_ * kVerdictDecay + 1;
}

bool HedgePolicy::outage() const { return slow_ > settings_.outage_share * judged_ + kBearableInAnyCase; }

absl::Duration HedgePolicy::SlowLimit(const DurationHistogram& histogram) const {
  if (histogram.count() < settings_.least_samples) return absl::InfiniteDuration();
  return std::max(
      {settings_.least_limit, histogram.Quantile(kUsual), kTimesMedian * histogram.Quantile(0.5)});
}

absl::Duration HedgePolicy::StallLimit(const DurationHistogram& histogram) const {
  if (outage() || histogram.count() < kTailSamples) return settings_.stall_at_first;
  return std::clamp(histogram.Quantile(kNearlyAlways), settings_.least_stall, settings_.stall_at_first);
}

void HedgePolicy::Refresh() {
  for (SizeClass& each : classes_) each.slow = SlowLimit(each.whole);
  slow_first_byte_ = SlowLimit(first_byte_);
  // A second request brings nothing sooner than its own first byte.
  const bool gaps_known = gap_tail_.count() >= kTailSamples;  // Small objects come in one piece.
  slow_gap_ = slow_first_byte_;
  if (gaps_known) slow_gap_ = std::max(slow_gap_, gap_tail_.Quantile(kNearlyAlways));
  stalled_first_byte_ = StallLimit(first_byte_tail_);
  stalled_gap_ = StallLimit(gaps_known ? gap_tail_ : first_byte_tail_);
}

bool HedgePolicy::IsLate(const GetProgress& progress, absl::Duration now) const {
  return now - progress.begun > classes_[ClassOf(progress.size)].slow;
}

bool HedgePolicy::IsSilent(const GetProgress& progress, absl::Duration now) const {
  return now - progress.last_byte > (progress.answered ? slow_gap_ : slow_first_byte_);
}

bool HedgePolicy::HasStalled(const GetProgress& progress, absl::Duration now) const {
  return now - progress.last_byte > (progress.answered ? stalled_gap_ : stalled_first_byte_);
}

absl::Duration HedgePolicy::LookInterval() const {
  return std::clamp(slow_first_byte_ / 8, kShortestLook, kLongestLook);
}

bool HedgePolicy::Spend(GetPurpose purpose) {
  const double kept = purpose == GetPurpose::kDemand ? 0 : kKeptForReaders;
  if (outage() || spendable_ < 1 + kept) return false;
  spendable_ -= 1;
  return true;
}

}  // namespace bucketvol
