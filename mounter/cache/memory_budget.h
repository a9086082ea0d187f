#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "mounter/cache/node_share.h"

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

/// Counts bytes against a limit, and against what the node grants. Thread-safe, without locks but for the
/// node's. Outlives its reservations.
class MemoryBudget {
 public:
  /// Borrows `node`; null where this mount is alone.
  explicit MemoryBudget(uint64_t limit, NodeShare* node = nullptr) : limit_(limit), node_(node) {}

  /// Takes `bytes` if they fit, asking the node for more where it must; tells whether they did.
  bool TryReserve(uint64_t bytes, Reservation& out);
  /// The same without asking: after the node has refused, and something was given back.
  bool TryReserveGranted(uint64_t bytes, Reservation& out);
  /// Takes `bytes` whether they fit or not: what lets a reader always go on.
  Reservation ReserveBeyondLimit(uint64_t bytes);

  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_; }
  /// What of the limit may be used without asking.
  uint64_t granted() const { return node_ == nullptr ? limit_ : std::min(limit_, node_->granted()); }
  /// What of the limit can be had as things are.
  uint64_t in_reach() const { return node_ != nullptr && node_->refused() ? granted() : limit_; }

 private:
  friend class Reservation;
  void Release(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  const uint64_t limit_;
  NodeShare* const node_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace bucketvol
