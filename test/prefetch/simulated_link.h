#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"

namespace bucketvol {

/// How a simulated endpoint answers.
struct LinkShape {
  absl::Duration first_byte = absl::Milliseconds(35);
  double connection_bytes_per_second = 50e6;  // 0: no cap.
  double total_bytes_per_second = 400e6;      // 0: no cap.
  double slow_factor = 1;  // The first byte of each hundredth request takes so many times as long.
};

/// A fluid model of an endpoint: each transfer waits for its first byte, then shares the link equally with
/// the others, none above the cap of a connection.
class SimulatedLink {
 public:
  explicit SimulatedLink(const LinkShape& shape) : shape_(shape) {}

  struct Transfer {
    uint64_t bytes = 0;
    double received = 0;
    absl::Duration started;
    absl::Duration first_byte;  // When it came or will come.
    bool began = false;
  };

  void Start(int id, uint64_t bytes, absl::Duration now);
  /// Moves time from `now` on; returns the ids of those that received something.
  std::vector<int> Advance(absl::Duration now, absl::Duration step);
  const Transfer& transfer(int id) const { return transfers_.at(id); }
  void Forget(int id) { transfers_.erase(id); }

  bool idle() const { return transfers_.empty(); }
  uint64_t wire_bytes() const { return wire_bytes_; }
  uint64_t requests() const { return requests_; }
  size_t in_flight() const { return transfers_.size(); }

 private:
  const LinkShape shape_;
  std::map<int, Transfer> transfers_;
  uint64_t wire_bytes_ = 0;  // Of all transfers that were started.
  uint64_t requests_ = 0;
};

}  // namespace bucketvol
