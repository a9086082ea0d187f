#include "test/bucketd/pacer.h"

#include <algorithm>

namespace bucketvol::bucketd {

uint64_t Pacer::SliceBytes(uint64_t rate) {
  constexpr uint64_t kPerSecond = 1'000'000'000 / kSliceNs;
  return std::max<uint64_t>(1, rate / kPerSecond);
}

Pacer::Passage Pacer::Reserve(uint64_t bytes, uint64_t rate, int64_t now) {
  const auto cost = static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(rate));
  int64_t free_at = free_at_.load(std::memory_order_relaxed);
  int64_t start;
  do {
    start = std::max(free_at, now - kSlackNs);
  } while (!free_at_.compare_exchange_weak(free_at, start + cost, std::memory_order_relaxed));
  return {start, start + cost};
}

}  // namespace bucketvol::bucketd
