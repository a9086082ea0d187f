#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mounter/base/clock.h"
#include "mounter/base/executor.h"
#include "mounter/objstore/in_flight.h"
#include "mounter/objstore/object_store.h"
#include "mounter/objstore/request_pacer.h"
#include "mounter/objstore/store_metrics.h"
#include "mounter/objstore/waiting_room.h"

namespace bucketvol {

/// Holds requests to another store back so that it gets no more of them per second than configured and than
/// it bears (see RequestPacer). Does not repeat what was refused: that is RetryingStore's, which stands
/// above.
class ThrottledStore final : public ObjectStore {
 public:
  /// Borrows all. `request_rate` in requests per second; 0: no limit of our own.
  ThrottledStore(ObjectStore& inner, double request_rate, const Clock& clock, Executor& executor,
                 StoreMetrics& metrics);
  ~ThrottledStore() override;

  void List(ListRequest request, ListCallback done) override;
  void Get(GetRequest request, GetSink* sink) override;
  void Head(std::string key, HeadCallback done) override;

  /// Ends what waits here with Cancelled, also from now on.
  void Close() { room_.Close(); }

 private:
  class WatchingSink;
  absl::Duration Admit();
  void OnSend();
  void OnAnswer(const absl::Status& status);

  ObjectStore& inner_;
  const Clock& clock_;
  StoreMetrics& metrics_;
  absl::Mutex mu_;  // Leaf.
  RequestPacer pacer_ ABSL_GUARDED_BY(mu_);
  InFlight in_flight_;
  WaitingRoom room_;
};

}  // namespace bucketvol
