#include "mounter/reader/fetch_scheduler.h"

#include <utility>
#include <vector>

namespace bucketvol {

void FetchScheduler::Start(std::shared_ptr<Fetch> fetch) {
  bytes_in_flight_.fetch_add(fetch->size(), std::memory_order_relaxed);
  {
    absl::MutexLock lock(&mu_);
    waiting_.push_back(std::move(fetch));
  }
  StartWaiting();
}

void FetchScheduler::StartPaid(std::shared_ptr<Fetch> fetch) {
  bytes_in_flight_.fetch_add(fetch->size(), std::memory_order_relaxed);
  {
    absl::MutexLock lock(&mu_);
    started_.insert(fetch);
    ++running_;
    ++alive_;
  }
  Launch(std::move(fetch));
}

// Holds the fetch during the call: its end may come before the store returns.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void FetchScheduler::Launch(std::shared_ptr<Fetch> fetch) { store_.Get(fetch->Request(), fetch.get()); }

std::shared_ptr<Fetch> FetchScheduler::NextWaiting(bool& unconditional) const {
  absl::MutexLock lock(&mu_);
  unconditional = running_ < beyond_memory_;
  return waiting_.empty() ? nullptr : waiting_.front();
}

// False: another thread was faster.
bool FetchScheduler::TakeWaiting(const std::shared_ptr<Fetch>& fetch) {
  absl::MutexLock lock(&mu_);
  if (waiting_.empty() || waiting_.front() != fetch) return false;
  waiting_.pop_front();
  started_.insert(fetch);
  ++running_;
  ++alive_;
  return true;
}

void FetchScheduler::StartWaiting() {
  bool unconditional = false;
  while (std::shared_ptr<Fetch> next = NextWaiting(unconditional)) {
    Reservation reservation;
    if (!memory_.Reserve(next->size(), reservation)) {
      if (!unconditional) return;
      reservation = memory_.ReserveBeyondLimit(next->size());
    }
    if (!TakeWaiting(next)) continue;
    next->Pay(std::move(reservation));
    Launch(std::move(next));
  }
}

void FetchScheduler::Retire(const Fetch& fetch) {
  bytes_in_flight_.fetch_sub(fetch.size(), std::memory_order_relaxed);
  {
    absl::MutexLock lock(&mu_);
    --running_;
  }
  StartWaiting();
  std::shared_ptr<Fetch> last;
  {
    absl::MutexLock lock(&mu_);
    const auto found = started_.find(&fetch);
    last = *found;
    started_.erase(found);
  }
  last.reset();  // Before the count tells Shutdown that nothing is left.
  absl::MutexLock lock(&mu_);
  --alive_;
}

void FetchScheduler::Shutdown() {
  std::vector<std::shared_ptr<Fetch>> fetches;
  {
    absl::MutexLock lock(&mu_);
    fetches.assign(started_.begin(), started_.end());
    fetches.insert(fetches.end(), waiting_.begin(), waiting_.end());
  }
  for (const std::shared_ptr<Fetch>& fetch : fetches) fetch->cancellation().Cancel();
  fetches.clear();
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &FetchScheduler::IdleLocked));
}

size_t FetchScheduler::fetches_in_flight() const {
  absl::MutexLock lock(&mu_);
  return static_cast<size_t>(running_);
}

}  // namespace bucketvol
