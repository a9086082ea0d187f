#include "mounter/objstore/duration_histogram.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace bucketvol {
namespace {

constexpr int kStepBits = 3;
constexpr uint64_t kSteps = 1u << kStepBits;

// The octave of the value, and the three bits below its highest one.
size_t BucketOf(absl::Duration duration, size_t buckets) {
  const auto micros =
      static_cast<uint64_t>(std::max<int64_t>(absl::ToInt64Microseconds(duration), 0)) + kSteps;
  const int octave = std::bit_width(micros) - 1 - kStepBits;
  const uint64_t step = (micros >> octave) - kSteps;
  return std::min<size_t>(static_cast<size_t>(octave) * kSteps + step, buckets - 1);
}

// The least duration of the next bucket.
absl::Duration UpperEnd(size_t bucket) {
  const uint64_t next = bucket + 1;
  const uint64_t micros = ((next % kSteps + kSteps) << (next / kSteps)) - kSteps;
  return absl::Microseconds(static_cast<int64_t>(micros));
}

}  // namespace

void DurationHistogram::Add(absl::Duration duration) {
  static_assert(kStepsPerOctave == kSteps);
  counts_[BucketOf(duration, counts_.size())] += 1;
  if (++count_ < 2 * window_) return;
  for (float& count : counts_) count /= 2;
  count_ /= 2;
}

absl::Duration DurationHistogram::Quantile(double share) const {
  const double wanted = share * count_;
  double seen = 0;
  size_t last = counts_.size();
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    seen += counts_[i];
    last = i;
    if (seen >= wanted) break;
  }
  return last == counts_.size() ? absl::ZeroDuration() : UpperEnd(last);
}

}  // namespace bucketvol
