#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "mounter/base/byte_range.h"
#include "mounter/prefetch/link_estimate.h"

namespace bucketvol {

/// Fetches the whole of an object front to back, for readers that want all of it in an order nobody can
/// guess. Gives out what the link takes and not more at a time. Thread-compatible.
class WholeSweep {
 public:
  explicit WholeSweep(uint64_t object_size) : size_(object_size) {}

  /// The next parts, if the link is ready for them.
  void Plan(const LinkEstimate& link, uint64_t part_max, absl::Duration now, std::vector<ByteRange>& ahead);
  /// Stops until the next Plan(). Returns what was planned and is not there, by estimate.
  ByteRange Pause();
  /// Plans from `offset` again, if that was planned.
  void Replan(uint64_t offset);

  bool running() const { return running_; }
  absl::Duration last_use() const { return planned_at_; }
  /// Planned and not there, by estimate.
  uint64_t in_flight() const { return running_ ? in_flight_ : 0; }

 private:
  uint64_t size_;
  bool running_ = false;
  uint64_t position_ = 0;  // What lies before was planned.
  uint64_t in_flight_ = 0;
  absl::Duration planned_at_;
};

}  // namespace bucketvol
