#pragma once

#include <atomic>

#include "mounter/base/clock.h"
#include "mounter/base/executor.h"
#include "mounter/objstore/in_flight.h"
#include "mounter/objstore/object_store.h"
#include "mounter/objstore/retry_policy.h"
#include "mounter/objstore/store_metrics.h"
#include "mounter/objstore/waiting_room.h"

namespace bucketvol {

/// Repeats requests to another store that failed for a reason that may pass. A GET goes on at the first
/// missing byte of the same version, so that its sink sees no seam. A listing's page is asked for again as a
/// whole. Repetitions go to another address of the service where they can, unless it throttled.
class RetryingStore final : public ObjectStore {
 public:
  /// Borrows all but the settings and `random`.
  RetryingStore(ObjectStore& inner, const RetrySettings& settings, const Clock& clock, Executor& executor,
                UniformRandom random, StoreMetrics& metrics);
  ~RetryingStore() override;

  void List(ListRequest request, ListCallback done) override;
  void Get(GetRequest request, GetSink* sink) override;
  void Head(std::string key, HeadCallback done) override;

  /// Ends what waits for its next attempt with Cancelled; from now on no request gets another.
  void Close() { room_.Close(); }

 private:
  class Call;
  class ListCall;
  class GetCall;
  class HeadCall;

  ObjectStore& inner_;
  const RetrySettings settings_;
  const Clock& clock_;
  const UniformRandom random_;
  StoreMetrics& metrics_;
  std::atomic<bool> ever_answered_{false};
  InFlight in_flight_;
  WaitingRoom room_;
};

}  // namespace bucketvol
