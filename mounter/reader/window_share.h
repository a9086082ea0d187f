#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace bucketvol {

/// Shares the memory between the windows of all streams: each may have an equal part, and more while nobody
/// else uses it. When memory runs out the largest windows are halved first, because one cap holds for all.
///
/// Thread-safe, without locks; figures may be a moment old.
class WindowShare {
 public:
  /// `memory`: bytes that all windows together may take.
  explicit WindowShare(uint64_t memory) : memory_(memory), cap_(memory) {}

  /// What one stream may keep ahead that keeps `own` now.
  uint64_t LimitFor(uint64_t own) const {
    const auto streams = static_cast<uint64_t>(std::max<int64_t>(1, active_.load(std::memory_order_relaxed)));
    const auto ahead = static_cast<uint64_t>(std::max<int64_t>(0, ahead_.load(std::memory_order_relaxed)));
    const uint64_t unused = memory_ > ahead ? memory_ - ahead : 0;
    return std::min(cap_.load(std::memory_order_relaxed), std::max(memory_ / streams, own + unused));
  }
  /// Notes that streams came and went, and what they keep ahead more or less than before.
  void Add(int64_t streams, int64_t ahead) {
    active_.fetch_add(streams, std::memory_order_relaxed);
    ahead_.fetch_add(ahead, std::memory_order_relaxed);
  }
  /// There was no memory for something that shall be fetched ahead.
  void OnPressure() { cap_.store(std::max(cap_.load(std::memory_order_relaxed) / 2, kLeastCap)); }
  /// Lets windows grow again; about once a second.
  void Relax() { cap_.store(std::min(cap_.load(std::memory_order_relaxed) * 5 / 4, memory_)); }

 private:
  static constexpr uint64_t kLeastCap = 2 << 20;

  const uint64_t memory_;
  std::atomic<uint64_t> cap_;
  std::atomic<int64_t> active_{0};
  std::atomic<int64_t> ahead_{0};
};

}  // namespace bucketvol
