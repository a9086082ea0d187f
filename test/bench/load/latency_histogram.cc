#include "test/bench/load/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace bucketvol::bench {

unsigned LatencyHistogram::BucketOf(uint64_t ns) {
  if (ns < (1u << kSubBits)) return static_cast<unsigned>(ns);
  const unsigned shift = static_cast<unsigned>(std::bit_width(ns)) - 1 - kSubBits;
  return ((shift + 1) << kSubBits) + static_cast<unsigned>((ns >> shift) - (1u << kSubBits));
}

uint64_t LatencyHistogram::UpperEnd(unsigned bucket) {
  const unsigned octave = bucket >> kSubBits;
  const uint64_t within = bucket & ((1u << kSubBits) - 1);
  if (octave == 0) return within;
  return ((within + (1u << kSubBits) + 1) << (octave - 1)) - 1;
}

void LatencyHistogram::Add(uint64_t ns) {
  counts_[BucketOf(ns)].fetch_add(1, std::memory_order_relaxed);
  uint64_t seen = max();
  while (ns > seen && !max_.compare_exchange_weak(seen, ns, std::memory_order_relaxed)) {
  }
}

uint64_t LatencyHistogram::count() const {
  uint64_t total = 0;
  for (const std::atomic<uint64_t>& bucket : counts_) total += bucket.load(std::memory_order_relaxed);
  return total;
}

uint64_t LatencyHistogram::Percentile(double fraction) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(fraction * static_cast<double>(count())));
  uint64_t passed = 0;
  for (unsigned bucket = 0; bucket < kBuckets; ++bucket) {
    passed += counts_[bucket].load(std::memory_order_relaxed);
    if (passed >= wanted && passed > 0) return std::min(UpperEnd(bucket), max());
  }
  return 0;
}

}  // namespace bucketvol::bench
