#include "mounter/objstore/metered_store.h"

#include <memory>
#include <utility>

namespace bucketvol {

class MeteredStore::CountingSink final : public GetSink {
 public:
  CountingSink(MeteredStore& store, GetSink& sink) : store_(store), sink_(sink) {}

  void OnVersion(absl::string_view etag) override { sink_.OnVersion(etag); }
  void OnObjectCrc64(uint64_t crc) override { sink_.OnObjectCrc64(crc); }
  void OnData(absl::Span<const char> data) override {
    store_.metrics_.bytes_in.fetch_add(data.size(), std::memory_order_relaxed);
    sink_.OnData(data);
  }
  void OnDone(absl::Status status) override {
    const std::unique_ptr<CountingSink> self(this);
    store_.End(status);
    sink_.OnDone(std::move(status));
    store_.in_flight_.Leave();
  }

 private:
  MeteredStore& store_;
  GetSink& sink_;
};

void MeteredStore::Begin() {
  in_flight_.Enter();
  metrics_.in_flight.fetch_add(1, std::memory_order_relaxed);
}

void MeteredStore::End(const absl::Status& status) {
  metrics_.in_flight.fetch_sub(1, std::memory_order_relaxed);
  if (status.ok() || absl::IsNotFound(status) || absl::IsCancelled(status)) return;
  metrics_.errors.fetch_add(1, std::memory_order_relaxed);
}

void MeteredStore::List(ListRequest request, ListCallback done) {
  Begin();
  inner_.List(std::move(request), [this, done = std::move(done)](absl::StatusOr<ListPage> page) mutable {
    if (page.ok()) metrics_.bytes_in.fetch_add(page->body_bytes, std::memory_order_relaxed);
    End(page.status());
    std::move(done)(std::move(page));
    in_flight_.Leave();
  });
}

void MeteredStore::Get(GetRequest request, GetSink* sink) {
  Begin();
  inner_.Get(std::move(request), new CountingSink(*this, *sink));
}

void MeteredStore::Head(std::string key, HeadCallback done) {
  Begin();
  inner_.Head(std::move(key), [this, done = std::move(done)](absl::StatusOr<ObjectInfo> info) mutable {
    End(info.status());
    std::move(done)(std::move(info));
    in_flight_.Leave();
  });
}

}  // namespace bucketvol
