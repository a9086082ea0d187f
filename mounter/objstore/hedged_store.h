#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mounter/base/clock.h"
#include "mounter/base/executor.h"
#include "mounter/objstore/hedge_policy.h"
#include "mounter/objstore/in_flight.h"
#include "mounter/objstore/object_store.h"
#include "mounter/objstore/request_gate.h"
#include "mounter/objstore/store_metrics.h"
#include "mounter/objstore/waiting_room.h"

namespace bucketvol {

/// Keeps slow GETs of another store from being waited for.
///
/// A GET that is slow (HedgePolicy) is asked for a second time, from the first missing byte on, over another
/// connection, to another address where the service has several; one that no reader waits for (GetPurpose)
/// only while there is enough for those that one does. The one that is ahead goes on, the other is cancelled;
/// the sink sees each byte once, in order. Only GETs with if_match are: both answers are of one version. Any
/// GET that has stalled ends with DeadlineExceeded (retryable), unless its twin goes on. The rest passes
/// through as it is.
class HedgedStore final : public ObjectStore {
 public:
  /// Borrows all but the settings. `gate` decides whether there is room for a second request; that of the
  /// first has been passed.
  HedgedStore(ObjectStore& inner, const HedgeSettings& settings, RequestGate& gate, const Clock& clock,
              Executor& executor, StoreMetrics& metrics);
  ~HedgedStore() override;

  void List(ListRequest request, ListCallback done) override {
    inner_.List(std::move(request), std::move(done));
  }
  void Get(GetRequest request, GetSink* sink) override;
  void Head(std::string key, HeadCallback done) override { inner_.Head(std::move(key), std::move(done)); }

  /// From now on no GET is watched.
  void Close() { room_.Close(); }

 private:
  class Call;
  class Leg;

  void Start(const std::shared_ptr<Leg>& leg);
  void StartSecond(const std::shared_ptr<Leg>& leg);
  void CountDiscarded(uint64_t bytes);
  void KeepLooking() ABSL_LOCKS_EXCLUDED(mu_);
  void Look() ABSL_LOCKS_EXCLUDED(mu_);
  void ForgetLocked(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  ObjectStore& inner_;
  RequestGate& gate_;
  const Clock& clock_;
  StoreMetrics& metrics_;
  InFlight in_flight_;  // Legs, and looks.

  absl::Mutex mu_;  // Leaf: neither the store below nor a sink is called under it. Guards the calls, too.
  HedgePolicy policy_ ABSL_GUARDED_BY(mu_);
  bool looking_ ABSL_GUARDED_BY(mu_) = false;                      // The next look is due.
  std::vector<std::shared_ptr<Call>> calls_ ABSL_GUARDED_BY(mu_);  // Without result yet.

  WaitingRoom room_;
};

}  // namespace bucketvol
