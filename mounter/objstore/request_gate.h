#pragma once

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"
#include "mounter/objstore/congestion.h"
#include "mounter/objstore/request_pacer.h"
#include "mounter/objstore/store_metrics.h"

namespace bucketvol {

/// Lets the requests of one bucket out at a rate that the service bears (see RequestPacer), counts what its
/// answers say of congestion and tells the observer.
///
/// Thread-safe. Never calls the observer under its lock.
class RequestGate {
 public:
  /// Borrows the clock and the metrics. `request_rate` in requests per second; 0: no limit of our own.
  RequestGate(double request_rate, const Clock& clock, StoreMetrics& metrics);

  /// Gives a request its turn and says how long it has to wait. One that need not wait counts as sent.
  absl::Duration Admit();
  /// A request that had to wait goes out.
  void OnSend();
  /// Lets a request out that is not worth waiting for: false, and nothing is counted, if it had to wait.
  bool TryAdmit();

  /// Takes note of how a request ended.
  void OnAnswer(const absl::Status& status);
  /// An answer says that the service delayed it on purpose.
  void OnHeldBack() { Note(Congestion::kHeldBack); }

  /// Replaces the observer; null: none. One that was replaced may still be called for a moment.
  void Observe(std::shared_ptr<CongestionObserver> observer);

 private:
  void Note(Congestion kind);

  const Clock& clock_;
  StoreMetrics& metrics_;
  absl::Mutex mu_;  // Leaf.
  RequestPacer pacer_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<CongestionObserver> observer_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
