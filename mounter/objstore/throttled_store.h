#pragma once

#include "mounter/base/executor.h"
#include "mounter/objstore/in_flight.h"
#include "mounter/objstore/object_store.h"
#include "mounter/objstore/request_gate.h"
#include "mounter/objstore/waiting_room.h"

namespace bucketvol {

/// Holds requests to another store back so that it gets no more of them per second than configured and than
/// it bears (see RequestGate). Does not repeat what was refused: that is RetryingStore's, which stands
/// above.
class ThrottledStore final : public ObjectStore {
 public:
  /// Borrows all.
  ThrottledStore(ObjectStore& inner, RequestGate& gate, Executor& executor)
      : inner_(inner), gate_(gate), room_(executor) {}
  ~ThrottledStore() override;

  void List(ListRequest request, ListCallback done) override;
  void Get(GetRequest request, GetSink* sink) override;
  void Head(std::string key, HeadCallback done) override;

  /// Ends what waits here with Cancelled, also from now on.
  void Close() { room_.Close(); }

 private:
  class WatchingSink;
  absl::Duration Admit();

  ObjectStore& inner_;
  RequestGate& gate_;
  InFlight in_flight_;
  WaitingRoom room_;
};

}  // namespace bucketvol
