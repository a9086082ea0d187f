#pragma once

#include <atomic>
#include <cstdint>

#include "mounter/objstore/congestion.h"
#include "mounter/prefetch/concurrency_limit.h"

namespace bucketvol {

/// Keeps what a store hears of congestion until somebody draws conclusions from it. How often a thing was
/// said in between does not matter.
///
/// Thread-safe, without locks: the store's threads do not wait for whoever looks.
class LoadSignals final : public CongestionObserver {
 public:
  void OnCongestion(Congestion kind) override {
    noted_.fetch_or(uint32_t{1} << static_cast<int>(kind), std::memory_order_relaxed);
  }

  /// Tells `limit` what was noted since the last time.
  void PassOn(ConcurrencyLimit& limit, absl::Duration now) {
    if (noted_.load(std::memory_order_relaxed) == 0) return;
    const uint32_t noted = noted_.exchange(0, std::memory_order_relaxed);
    const auto pass = [&](Congestion kind, LoadSignal signal) {
      if ((noted >> static_cast<int>(kind) & 1) != 0) limit.OnSignal(signal, now);
    };
    pass(Congestion::kActiveRequests, LoadSignal::kTooManyAtATime);
    pass(Congestion::kBandwidth, LoadSignal::kTooManyBytes);
    pass(Congestion::kRequestRate, LoadSignal::kTooManyRequests);
    pass(Congestion::kHeldBack, LoadSignal::kHeldBack);
  }

 private:
  std::atomic<uint32_t> noted_{0};  // Bits by Congestion.
};

}  // namespace bucketvol
