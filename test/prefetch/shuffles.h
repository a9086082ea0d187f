#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace bucketvol {

/// The numbers below `count` in an order that `seed` fixes.
inline std::vector<uint32_t> Permutation(size_t count, unsigned seed) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(seed);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

/// What is seen of an order that `workers` processes read, each one batch of `batch` in turn: they go on side
/// by side, now one ahead, now another, by two batches at most.
inline std::vector<uint32_t> ReadByWorkers(const std::vector<uint32_t>& order, size_t workers, size_t batch,
                                           unsigned seed) {
  std::vector<std::vector<uint32_t>> shares(workers);
  for (size_t i = 0; i < order.size(); ++i) shares[i / batch % workers].push_back(order[i]);
  std::vector<size_t> done(workers);
  std::vector<uint32_t> seen;
  std::mt19937 random(seed);
  while (seen.size() < order.size()) {
    const size_t worker = random() % workers;
    size_t slowest = order.size();
    for (size_t i = 0; i < workers; ++i) {
      if (done[i] < shares[i].size()) slowest = std::min(slowest, done[i] / batch);
    }
    if (done[worker] < shares[worker].size() && done[worker] / batch <= slowest + 1)
      seen.push_back(shares[worker][done[worker]++]);
  }
  return seen;
}

}  // namespace bucketvol
