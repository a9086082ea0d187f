#include "mounter/prefetch/link_meter.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace bucketvol {

namespace {

constexpr size_t kRefresh = 16;                  // Latencies between two looks at the percentiles.
constexpr uint64_t kMeaningfulBody = 256 << 10;  // A shorter one tells nothing of the bandwidth.
constexpr double kHalfLife = 30;  // Seconds in which the best bandwidth seen is half forgotten.
constexpr absl::Duration kInterval = absl::Milliseconds(100);
constexpr absl::Duration kShortest = absl::Microseconds(100);

}  // namespace

void LinkMeter::OnFirstByte(absl::Duration latency) {
  latencies_[latencies_seen_ % kLatencies] = latency;
  ++latencies_seen_;
  if (latencies_seen_ % kRefresh == 0 || latencies_seen_ == kRefresh / 2) UpdatePercentiles();
}

void LinkMeter::UpdatePercentiles() {
  const size_t count = std::min(latencies_seen_, kLatencies);
  std::vector<absl::Duration> sorted(latencies_.begin(), latencies_.begin() + static_cast<long>(count));
  std::sort(sorted.begin(), sorted.end());
  estimate_.first_byte_p50 = sorted[count / 2];
  estimate_.first_byte_p95 = sorted[count * 95 / 100];
  estimate_.first_byte_p99 = sorted[count * 99 / 100];
  estimate_.first_byte_slow = sorted[count - 2];
  base_ = std::min(base_, std::max(estimate_.first_byte_p50, kShortest));
}

// While connections share a full link each gets less than it could; the best that was seen lately is what one
// can do.
void LinkMeter::OnBody(uint64_t bytes, absl::Duration transfer, absl::Duration now) {
  if (bytes < kMeaningfulBody) return;
  bodies_[bodies_seen_ % kBodies] =
      static_cast<double>(bytes) / absl::ToDoubleSeconds(std::max(transfer, kShortest));
  if (++bodies_seen_ % kBodies != 0) return;
  std::nth_element(bodies_.begin(), bodies_.begin() + kBodies / 2, bodies_.end());
  const double median = bodies_[kBodies / 2];
  const double kept = std::exp2(-absl::ToDoubleSeconds(now - batch_at_) / kHalfLife);
  double& best = estimate_.connection_bytes_per_second;
  best = connection_known_ ? std::max(median, best * kept + median * (1 - kept)) : median;
  connection_known_ = true;
  estimate_.measured = latencies_seen_ >= kRefresh / 2;
  batch_at_ = now;
}

void LinkMeter::OnBytes(uint64_t bytes, absl::Duration now) {
  interval_bytes_ += bytes;
  const absl::Duration time = now - interval_began_;
  if (time < kInterval) return;
  const double sample = static_cast<double>(interval_bytes_) / absl::ToDoubleSeconds(time);
  double& rate = estimate_.bytes_per_second;
  rate = std::max(sample, (rate + sample) / 2);
  interval_began_ = now;
  interval_bytes_ = 0;
}

}  // namespace bucketvol
