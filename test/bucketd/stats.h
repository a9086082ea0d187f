#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "test/bucketd/api_request.h"

namespace bucketvol::bucketd {

/// The counters of GET /-/stats. Thread-safe and cheap: each thread has its own cache lines. Reads see each
/// counter at some moment of the call, not all at one.
class Stats {
 public:
  explicit Stats(int workers);

  void CountRequest(int worker, OperationClass operation_class);
  void CountIn(int worker, uint64_t bytes);
  void CountOut(int worker, uint64_t bytes);
  void CountAuthFailure(int worker);
  void CountConnection() { connections_.fetch_add(1, std::memory_order_relaxed); }
  void Enter();
  void Leave() { in_flight_.fetch_sub(1, std::memory_order_relaxed); }

  /// Sets everything to zero but in_flight; the peak begins anew at the present value.
  void Reset();
  std::string ToJson() const;

 private:
  using Counter = std::atomic<uint64_t>;
  struct alignas(128) Worker {
    std::array<Counter, kOperationClasses> requests{};
    Counter bytes_in{0};
    Counter bytes_out{0};
    Counter auth_failures{0};
  };
  uint64_t Sum(Counter Worker::*counter) const;
  uint64_t SumRequests(int operation_class) const;

  const int workers_count_;
  const std::unique_ptr<Worker[]> workers_;
  Counter connections_{0};
  alignas(128) std::atomic<int64_t> in_flight_{0};
  std::atomic<int64_t> in_flight_peak_{0};
};

}  // namespace bucketvol::bucketd
