#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace bucketvol {

class MemoryBudget;

/// Bytes taken from a budget; given back by the destructor. Thread-compatible.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept
      : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { Reset(); }

  uint64_t bytes() const { return bytes_; }
  /// Moves `bytes` of this into a reservation of their own. There must be as many.
  Reservation Split(uint64_t bytes);
  void Reset();

 private:
  friend class MemoryBudget;
  Reservation(MemoryBudget* budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {}

  MemoryBudget* budget_ = nullptr;
  uint64_t bytes_ = 0;
};

/// Counts bytes against a limit. Thread-safe, without locks. Outlives its reservations.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}

  /// Takes `bytes` if they fit; tells whether they did.
  bool TryReserve(uint64_t bytes, Reservation& out);
  /// Takes `bytes` whether they fit or not: what lets a reader always go on.
  Reservation ReserveBeyondLimit(uint64_t bytes);

  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_; }

 private:
  friend class Reservation;
  void Release(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace bucketvol
