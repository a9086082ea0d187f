#include "mounter/index/lister_streams.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bucketvol {
namespace {

constexpr double kFirstBucketSeconds = 0.001;
constexpr double kBucketRatio = 1.25;
// Twice the requests are worth it while each takes less than this much longer: then throughput still grows by
// a third.
constexpr double kSlowerAtMost = 1.5;
// What is usual is forgotten by this much per round, so that a service that became slower for good is
// measured anew.
constexpr double kForget = 1.002;
// Rounds without growth after the service asked for fewer requests.
constexpr int kCalmRounds = 20;
constexpr int kSlowWindows = 2;
constexpr int kFirstRound = 2;
constexpr uint32_t kPagesForDeadline = 50;
constexpr absl::Duration kLeastDeadline = absl::Seconds(2);

}  // namespace

StreamControl::StreamControl(int min_streams, int max_streams, int first_streams)
    : min_streams_(std::max(1, min_streams)),
      max_streams_(std::max(min_streams_, max_streams)),
      limit_(std::clamp(first_streams, min_streams_, max_streams_)) {}

void StreamControl::OnPage(absl::Duration answered, absl::Duration taken) {
  const double seconds = std::max(absl::ToDoubleSeconds(answered), kFirstBucketSeconds);
  const int bucket = static_cast<int>(std::log(seconds / kFirstBucketSeconds) / std::log(kBucketRatio));
  ++buckets_[static_cast<size_t>(std::clamp(bucket, 0, kBuckets - 1))];
  ++pages_;
  ++pages_since_throttled_;

  window_seconds_ += absl::ToDoubleSeconds(taken);
  ++window_pages_;
  // The very first pages have the service for themselves: they say what is usual.
  if (window_pages_ < (usual_seconds_ == 0 ? kFirstRound : std::max(limit_ / 2, kFirstRound))) return;
  const double mean = window_seconds_ / window_pages_;
  window_seconds_ = 0;
  window_pages_ = 0;
  Decide(std::max(mean, 1e-6));
}

void StreamControl::Decide(double mean) {
  if (usual_seconds_ == 0) {
    usual_seconds_ = mean;
    return;
  }
  if (mean > kSlowerAtMost * usual_seconds_) {
    usual_seconds_ *= kForget;
    if (++slow_windows_ < kSlowWindows || grown_from_ == 0) return;
    limit_ = std::exchange(grown_from_, 0);
    return;
  }
  slow_windows_ = 0;
  if (limit_ == max_streams_ || pages_since_throttled_ < int64_t{kCalmRounds} * limit_) return;
  grown_from_ = limit_;
  limit_ = std::min(2 * limit_, max_streams_);
  usual_seconds_ = mean;
}

void StreamControl::OnThrottled() {
  if (pages_since_throttled_ < limit_ / 2) return;
  pages_since_throttled_ = 0;
  grown_from_ = 0;
  limit_ = std::max(min_streams_, limit_ * 3 / 4);
}

absl::Duration StreamControl::Deadline() const {
  if (pages_ < kPagesForDeadline) return absl::InfiniteDuration();
  uint32_t slower = 0;
  int bucket = kBuckets;
  while (bucket > 0 && slower + buckets_[static_cast<size_t>(bucket - 1)] <= pages_ / 100) {
    slower += buckets_[static_cast<size_t>(--bucket)];
  }
  return std::max(kLeastDeadline, absl::Seconds(3 * kFirstBucketSeconds * std::pow(kBucketRatio, bucket)));
}

}  // namespace bucketvol
