#pragma once

#include "mounter/objstore/in_flight.h"
#include "mounter/objstore/object_store.h"
#include "mounter/objstore/store_metrics.h"

namespace bucketvol {

/// Counts the bytes of another store's results, and its calls: those under way, and those that failed in the
/// end.
class MeteredStore final : public ObjectStore {
 public:
  /// Borrows both.
  MeteredStore(ObjectStore& inner, StoreMetrics& metrics) : inner_(inner), metrics_(metrics) {}

  void List(ListRequest request, ListCallback done) override;
  void Get(GetRequest request, GetSink* sink) override;
  void Head(std::string key, HeadCallback done) override;

 private:
  class CountingSink;
  void Begin();
  void End(const absl::Status& status);

  ObjectStore& inner_;
  StoreMetrics& metrics_;
  InFlight in_flight_;
};

}  // namespace bucketvol
