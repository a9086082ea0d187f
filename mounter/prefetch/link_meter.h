#pragma once

#include <array>
#include <cstdint>

#include "absl/time/time.h"
#include "mounter/prefetch/link_estimate.h"

namespace bucketvol {

/// Measures one endpoint. Thread-compatible.
class LinkMeter {
 public:
  void OnFirstByte(absl::Duration latency);
  /// A body came whole, in `transfer` from its first byte to its end.
  void OnBody(uint64_t bytes, absl::Duration transfer, absl::Duration now);
  /// Bytes came. `now` does not go back.
  void OnBytes(uint64_t bytes, absl::Duration now);

  const LinkEstimate& estimate() const { return estimate_; }
  /// The shortest wait for a first byte that is usual here: the median of quiet times.
  absl::Duration base() const { return base_; }

 private:
  static constexpr size_t kLatencies = 256;
  static constexpr size_t kBodies = 8;

  void UpdatePercentiles();

  LinkEstimate estimate_;
  absl::Duration base_ = absl::InfiniteDuration();
  std::array<absl::Duration, kLatencies> latencies_;  // The last ones, in a ring.
  size_t latencies_seen_ = 0;
  std::array<double, kBodies> bodies_;  // Bytes per second, of the batch that is being filled.
  size_t bodies_seen_ = 0;
  absl::Duration batch_at_;  // When the last batch was full.
  bool connection_known_ = false;
  absl::Duration interval_began_;
  uint64_t interval_bytes_ = 0;
};

}  // namespace bucketvol
