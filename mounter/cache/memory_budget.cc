#include "mounter/cache/memory_budget.h"

namespace bucketvol {

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this != &other) {
    Reset();
    budget_ = other.budget_;
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Reservation Reservation::Split(uint64_t bytes) {
  bytes_ -= bytes;
  return Reservation(budget_, bytes);
}

void Reservation::Reset() {
  if (bytes_ != 0) budget_->Release(std::exchange(bytes_, 0));
}

bool MemoryBudget::TryReserve(uint64_t bytes, Reservation& out) {
  while (!TryReserveGranted(bytes, out)) {
    const uint64_t wanted = used() + bytes;
    if (node_ == nullptr || wanted > limit_ || !node_->Grow(wanted)) return false;
  }
  return true;
}

bool MemoryBudget::TryReserveGranted(uint64_t bytes, Reservation& out) {
  uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (used + bytes > granted()) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  out = Reservation(this, bytes);
  return true;
}

Reservation MemoryBudget::ReserveBeyondLimit(uint64_t bytes) {
  used_.fetch_add(bytes, std::memory_order_relaxed);
  return Reservation(this, bytes);
}

}  // namespace bucketvol
