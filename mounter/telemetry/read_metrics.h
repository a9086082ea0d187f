#pragma once

#include <atomic>
#include <cstdint>

namespace bucketvol {

/// Counts what reading does. Written by any thread, read by any thread; values only grow.
struct ReadMetrics {
  std::atomic<uint64_t> requests{0};       // Asked for by the kernel.
  std::atomic<uint64_t> bytes{0};          // Delivered to it.
  std::atomic<uint64_t> from_memory{0};    // Of these bytes: were there when asked for,
  std::atomic<uint64_t> from_disk{0};      // came from the disk cache,
  std::atomic<uint64_t> from_store{0};     // were waited for,
  std::atomic<uint64_t> padding{0};        // are zeros between the end of an object and the next block.
  std::atomic<uint64_t> streams{0};        // Sequential readers recognised.
  std::atomic<uint64_t> stale_objects{0};  // Found changed or deleted since they were indexed.
  std::atomic<uint64_t> bad_checksums{0};  // Blocks in memory that were no longer what had
                                           // arrived, and objects that arrived otherwise than stored.
  std::atomic<uint64_t> errors{0};         // Requests answered with an error.

  static void Add(std::atomic<uint64_t>& counter, uint64_t value) {
    counter.fetch_add(value, std::memory_order_relaxed);
  }
};

}  // namespace bucketvol
