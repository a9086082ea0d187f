#pragma once

#include <array>
#include <cstdint>

#include "absl/time/time.h"

namespace bucketvol {

/// Decides how many list requests may be in flight, and how long one may take.
///
/// More requests help as long as they do not make each other slower: the number doubles while the pages of
/// the latest round took about as long as those before it. When they took longer for two rounds (the first
/// may only have opened connections), the processor or the service is busy, and the step is taken back. It
/// falls when the service asks for fewer requests, and does not grow for a while. Not thread-safe.
class StreamControl {
 public:
  /// Begins with `first_streams`, if that is within the bounds.
  StreamControl(int min_streams, int max_streams, int first_streams = 0);

  int limit() const { return limit_; }
  /// Notes a page: how long the service took, and how long it was until its keys were taken over.
  void OnPage(absl::Duration answered, absl::Duration taken);
  /// Notes that the service asked for fewer requests.
  void OnThrottled();
  /// The time after which an answer is not worth waiting for: three times what 99 of 100 pages take, at least
  /// two seconds. Infinite until enough pages have been seen.
  absl::Duration Deadline() const;

 private:
  void Decide(double mean);

  static constexpr int kBuckets = 64;

  const int min_streams_;
  const int max_streams_;
  int limit_;
  double usual_seconds_ = 0;   // What a page took when fewer were in flight; 0: not known.
  double window_seconds_ = 0;  // Sum over the pages since the last decision.
  int window_pages_ = 0;
  int grown_from_ = 0;  // The limit before the latest step; 0: that has proved its worth, or was taken back.
  int slow_windows_ = 0;  // In a row.
  int64_t pages_since_throttled_ = 1'000'000;
  std::array<uint32_t, kBuckets> buckets_{};  // Pages by the logarithm of their time.
  uint32_t pages_ = 0;
};

}  // namespace bucketvol
