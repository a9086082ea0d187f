#pragma once

#include <atomic>
#include <cstdint>

namespace bucketvol::bucketd {

/// Spreads bytes evenly over time: each piece is given a time before which it must not be sent. First come,
/// first served, so that users share the rate fairly. Time is nanoseconds of any steady clock, given by the
/// caller.
///
/// Thread-safe. Never waits.
class Pacer {
 public:
  /// Pieces are at most this long at the rate, so that the flow has no visible steps.
  static constexpr int64_t kSliceNs = 4'000'000;
  /// Time that may be caught up after a pause.
  static constexpr int64_t kSlackNs = 10'000'000;

  /// Bytes of one piece at `rate` bytes per second; at least 1.
  static uint64_t SliceBytes(uint64_t rate);

  /// When a piece may be sent.
  struct Passage {
    int64_t begin;  // When its first byte may pass; `now` or earlier means at once.
    int64_t end;    // When its last byte has passed at the rate.
  };

  /// Reserves `bytes` at `rate` bytes per second.
  Passage Reserve(uint64_t bytes, uint64_t rate, int64_t now);

  /// Begins anew at `now`: nothing is owed, and no time is left to be caught up.
  void Restart(int64_t now) { free_at_.store(now, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> free_at_{0};  // When all that was reserved has been paid for.
};

}  // namespace bucketvol::bucketd
