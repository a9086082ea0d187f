#include "mounter/objstore/request_gate.h"

#include <utility>

#include "mounter/objstore/store_error.h"

namespace bucketvol {

RequestGate::RequestGate(double request_rate, const Clock& clock, StoreMetrics& metrics)
    : clock_(clock), metrics_(metrics), pacer_(request_rate > 0 ? request_rate : RequestPacer::kUnlimited) {}

absl::Duration RequestGate::Admit() {
  const absl::Duration now = clock_.Elapsed();
  absl::MutexLock lock(&mu_);
  const absl::Duration wait = pacer_.Admit(now);
  if (wait == absl::ZeroDuration()) pacer_.OnSend(now);
  return wait;
}

void RequestGate::OnSend() {
  absl::MutexLock lock(&mu_);
  pacer_.OnSend(clock_.Elapsed());
}

bool RequestGate::TryAdmit() {
  const absl::Duration now = clock_.Elapsed();
  absl::MutexLock lock(&mu_);
  if (!pacer_.TryAdmit(now)) return false;
  pacer_.OnSend(now);
  return true;
}

void RequestGate::OnAnswer(const absl::Status& status) {
  Congestion kind = Congestion::kNone;
  if (!status.ok()) {
    const std::optional<StoreError> error = StoreErrorOf(status);
    if (error) kind = error->congestion;
    if (error && error->throttled) metrics_.throttled.fetch_add(1, std::memory_order_relaxed);
  }
  {
    absl::MutexLock lock(&mu_);
    pacer_.OnAnswer(clock_.Elapsed(), kind == Congestion::kRequestRate);
  }
  if (kind != Congestion::kNone) Note(kind);
}

void RequestGate::Note(Congestion kind) {
  metrics_.congestion[static_cast<int>(kind)].fetch_add(1, std::memory_order_relaxed);
  std::shared_ptr<CongestionObserver> observer;
  {
    absl::MutexLock lock(&mu_);
    observer = observer_;
  }
  if (observer) observer->OnCongestion(kind);
}

void RequestGate::Observe(std::shared_ptr<CongestionObserver> observer) {
  absl::MutexLock lock(&mu_);
  observer_.swap(observer);
}

}  // namespace bucketvol
