#include "mounter/objstore/throttled_store.h"

#include <memory>
#include <utility>

#include "mounter/objstore/store_error.h"

namespace bucketvol {

class ThrottledStore::WatchingSink final : public GetSink {
 public:
  WatchingSink(ThrottledStore& store, GetSink& sink) : store_(store), sink_(sink) {}

  void OnVersion(absl::string_view etag) override { sink_.OnVersion(etag); }
  void OnData(absl::Span<const char> data) override { sink_.OnData(data); }
  void OnDone(absl::Status status) override {
    const std::unique_ptr<WatchingSink> self(this);
    store_.OnAnswer(status);
    sink_.OnDone(std::move(status));
    store_.in_flight_.Leave();
  }

 private:
  ThrottledStore& store_;
  GetSink& sink_;
};

ThrottledStore::ThrottledStore(ObjectStore& inner, double request_rate, const Clock& clock,
                               Executor& executor, StoreMetrics& metrics)
    : inner_(inner),
      clock_(clock),
      metrics_(metrics),
      pacer_(request_rate > 0 ? request_rate : RequestPacer::kUnlimited),
      room_(executor) {}

ThrottledStore::~ThrottledStore() {
  Close();
  in_flight_.WaitForNone();
}

absl::Duration ThrottledStore::Admit() {
  in_flight_.Enter();
  absl::MutexLock lock(&mu_);
  const absl::Duration wait = pacer_.Admit(clock_.Elapsed());
  if (wait == absl::ZeroDuration()) pacer_.OnSend(clock_.Elapsed());
  return wait;
}

void ThrottledStore::OnSend() {
  absl::MutexLock lock(&mu_);
  pacer_.OnSend(clock_.Elapsed());
}

void ThrottledStore::OnAnswer(const absl::Status& status) {
  bool throttled = false;
  if (!status.ok()) {
    const std::optional<StoreError> error = StoreErrorOf(status);
    throttled = error && error->throttled;
  }
  if (throttled) metrics_.throttled.fetch_add(1, std::memory_order_relaxed);
  absl::MutexLock lock(&mu_);
  pacer_.OnAnswer(clock_.Elapsed(), throttled);
}

void ThrottledStore::List(ListRequest request, ListCallback done) {
  ListCallback watched = [this, done = std::move(done)](absl::StatusOr<ListPage> page) mutable {
    OnAnswer(page.status());
    std::move(done)(std::move(page));
    in_flight_.Leave();
  };
  const absl::Duration wait = Admit();
  if (wait == absl::ZeroDuration()) return inner_.List(std::move(request), std::move(watched));
  const std::shared_ptr<Cancellation> cancellation = request.cancellation;
  room_.Wait(wait, cancellation,
             [this, request = std::move(request), watched = std::move(watched)](absl::Status status) mutable {
               if (!status.ok()) return std::move(watched)(std::move(status));
               OnSend();
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
    OnSend();
    inner_.Get(std::move(request), watched);
  });
}

void ThrottledStore::Head(std::string key, HeadCallback done) {
  HeadCallback watched = [this, done = std::move(done)](absl::StatusOr<ObjectInfo> info) mutable {
    OnAnswer(info.status());
    std::move(done)(std::move(info));
    in_flight_.Leave();
  };
  const absl::Duration wait = Admit();
  if (wait == absl::ZeroDuration()) return inner_.Head(std::move(key), std::move(watched));
  room_.Wait(wait, nullptr,
             [this, key = std::move(key), watched = std::move(watched)](absl::Status status) mutable {
               if (!status.ok()) return std::move(watched)(std::move(status));
               OnSend();
               inner_.Head(std::move(key), std::move(watched));
             });
}

}  // namespace bucketvol
