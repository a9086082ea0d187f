#include "mounter/objstore/throttled_store.h"

#include <memory>
#include <utility>

namespace bucketvol {

class ThrottledStore::WatchingSink final : public GetSink {
 public:
  WatchingSink(ThrottledStore& store, GetSink& sink) : store_(store), sink_(sink) {}

  void OnVersion(absl::string_view etag) override { sink_.OnVersion(etag); }
  void OnObjectCrc64(uint64_t crc) override { sink_.OnObjectCrc64(crc); }
  void OnData(absl::Span<const char> data) override { sink_.OnData(data); }
  void OnDone(absl::Status status) override {
    const std::unique_ptr<WatchingSink> self(this);
    store_.gate_.OnAnswer(status);
    sink_.OnDone(std::move(status));
    store_.in_flight_.Leave();
  }

 private:
  ThrottledStore& store_;
  GetSink& sink_;
};

ThrottledStore::~ThrottledStore() {
  Close();
  in_flight_.WaitForNone();
}

absl::Duration ThrottledStore::Admit() {
  in_flight_.Enter();
  return gate_.Admit();
}

void ThrottledStore::List(ListRequest request, ListCallback done) {
  ListCallback watched = [this, done = std::move(done)](absl::StatusOr<ListPage> page) mutable {
    gate_.OnAnswer(page.status());
    std::move(done)(std::move(page));
    in_flight_.Leave();
  };
  const absl::Duration wait = Admit();
  if (wait == absl::ZeroDuration()) return inner_.List(std::move(request), std::move(watched));
  const std::shared_ptr<Cancellation> cancellation = request.cancellation;
  room_.Wait(wait, cancellation,
             [this, request = std::move(request), watched = std::move(watched)](absl::Status status) mutable {
               if (!status.ok()) return std::move(watched)(std::move(status));
               gate_.OnSend();
               inner_.List(std::move(request), std::move(watched));
             });
}

void ThrottledStore::Get(GetRequest request, GetSink* sink) {
  auto* const watched = new WatchingSink(*this, *sink);
  const absl::Duration wait = Admit();
  if (wait == absl::ZeroDuration()) return inner_.Get(std::move(request), watched);
  const std::shared_ptr<Cancellation> cancellation = request.cancellation;
  room_.Wait(wait, cancellation, [this, request = std::move(request), watched](absl::Status status) mutable {
    if (!status.ok()) return watched->OnDone(std::move(status));
    gate_.OnSend();
    inner_.Get(std::move(request), watched);
  });
}

void ThrottledStore::Head(std::string key, HeadCallback done) {
  HeadCallback watched = [this, done = std::move(done)](absl::StatusOr<ObjectInfo> info) mutable {
    gate_.OnAnswer(info.status());
    std::move(done)(std::move(info));
    in_flight_.Leave();
  };
  const absl::Duration wait = Admit();
  if (wait == absl::ZeroDuration()) return inner_.Head(std::move(key), std::move(watched));
  room_.Wait(wait, nullptr,
             [this, key = std::move(key), watched = std::move(watched)](absl::Status status) mutable {
               if (!status.ok()) return std::move(watched)(std::move(status));
               gate_.OnSend();
               inner_.Head(std::move(key), std::move(watched));
             });
}

}  // namespace bucketvol
