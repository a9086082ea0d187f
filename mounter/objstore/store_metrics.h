#pragma once

#include <atomic>
#include <cstdint>

#include "mounter/objstore/congestion.h"

namespace bucketvol {

/// The kinds of requests, as services bill them.
enum class StoreOperation { kGet, kList, kHead, kPut, kDelete, kPost };
inline constexpr int kStoreOperations = 6;

/// What went to and came from a store. Any thread may read; each number is exact, several together need not
/// match.
///
/// A request counts when the service has it (HttpResponseSink::OnSent), and so as often as the service counts
/// it: not when it ended before it was written, for want of a connection or because nobody wanted it any
/// more.
struct StoreMetrics {
  std::atomic<uint64_t> requests[kStoreOperations] = {};  // Of any cause. By StoreOperation.
  std::atomic<uint64_t> bytes_in{0};                      // Bodies of listings and objects.
  std::atomic<uint64_t> bytes_out{0};
  std::atomic<uint64_t> retries{0};  // Attempts after one that failed, whether it reached the service or not.
  std::atomic<uint64_t> throttled{0};  // Answers that asked for fewer requests.
  std::atomic<uint64_t> errors{0};     // Calls that failed in the end, but for NotFound and Cancelled.
  std::atomic<int64_t> in_flight{0};   // Calls without result yet, those that wait included.

  // Why there was another attempt; the sum is `retries`.
  std::atomic<uint64_t> retries_throttled{0};
  std::atomic<uint64_t> retries_unavailable{0};
  std::atomic<uint64_t> retries_timeout{0};
  std::atomic<uint64_t> retries_bad_answer{0};

  // Slow requests, and what was done about them.
  std::atomic<uint64_t> hedged{0};      // GETs that the service has beside a slow one for the same bytes.
  std::atomic<uint64_t> hedges_won{0};  // Of these, the second was faster.
  std::atomic<uint64_t> stalled{0};     // GETs given up because no byte came any more.
  std::atomic<uint64_t> bytes_discarded{0};             // Came twice. Part of bytes_in.
  std::atomic<uint64_t> congestion[kCongestions] = {};  // Answers that tell of it. By Congestion.

  void CountRequest(StoreOperation operation) {
    requests[static_cast<int>(operation)].fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t Requests(StoreOperation operation) const {
    return requests[static_cast<int>(operation)].load(std::memory_order_relaxed);
  }
};

}  // namespace bucketvol
