#pragma once

#include <array>
#include <cstdint>

#include "absl/time/time.h"
#include "mounter/prefetch/link_estimate.h"
#include "mounter/prefetch/stall.h"

namespace bucketvol {

/// How far one stream is fetched ahead. Thread-compatible.
class StreamWindow {
 public:
  /// Windows do not shrink below this, whatever the limit.
  explicit StreamWindow(uint64_t least_bytes) : least_bytes_(least_bytes) {}

  void Open(uint64_t bytes, absl::Duration now);
  void Close() { bytes_ = 0; }
  bool open() const { return bytes_ > 0; }
  uint64_t bytes() const { return bytes_; }

  struct Read {
    uint64_t advance;  // How far it took the stream.
    uint64_t unread;   // Planned beyond it.
    Stall stall;
    uint64_t limit;       // What the caller allows.
    uint64_t part_bytes;  // The usual part on this link.
    absl::Duration now;
  };
  /// Takes a read of an open window.
  void Note(const Read& read, const LinkEstimate& link);

 private:
  void Measure(const Read& read);
  void Grow(const Read& read, const LinkEstimate& link);
  void Shrink(const Read& read);
  uint64_t Needed(const Read& read, const LinkEstimate& link) const;

  uint64_t least_bytes_;
  uint64_t bytes_ = 0;
  absl::Duration grown_at_;  // Last change of size, and last stall.
  absl::Duration shrunk_at_;
  absl::Duration stalled_at_;
  // Consumption: of the interval that runs, and smoothed.
  absl::Duration interval_began_;
  uint64_t interval_bytes_ = 0;
  double bytes_per_second_ = 0;
  std::array<double, 2> samples_ = {};  // The latest, each of an interval.
};

}  // namespace bucketvol
