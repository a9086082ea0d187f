#include "mounter/objstore/retrying_store.h"

#include <memory>
#include <utility>

#include "mounter/objstore/store_error.h"

namespace bucketvol {
namespace {

// Whether a service answered at all, however it did.
bool IsAnswer(const absl::Status& status) {
  if (status.ok()) return true;
  const std::optional<StoreError> error = StoreErrorOf(status);
  return error && (error->http_status != 0 || absl::IsDataLoss(status));
}

void CountReason(StoreMetrics& metrics, const absl::Status& status) {
  metrics.retries.fetch_add(1, std::memory_order_relaxed);
  std::atomic<uint64_t>& reason = absl::IsResourceExhausted(status)  ? metrics.retries_throttled
                                  : absl::IsDeadlineExceeded(status) ? metrics.retries_timeout
                                  : absl::IsDataLoss(status)         ? metrics.retries_bad_answer
                                                                     : metrics.retries_unavailable;
  reason.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// One call with all its attempts. Owns itself: gone after its result was given.
class RetryingStore::Call {
 public:
  Call(RetryingStore& store, std::shared_ptr<Cancellation> cancellation)
      : store_(store), cancellation_(std::move(cancellation)), begun_(store.clock_.Elapsed()) {}
  virtual ~Call() = default;

  void Begin() {
    store_.in_flight_.Enter();
    Attempt();
  }

 protected:
  /// Sends the request; its result comes to OnSuccess of the subclass, or to OnFailure.
  virtual void Attempt() = 0;
  virtual void Fail(absl::Status status) = 0;

  void NoteProgress() { attempts_ = 0; }

  void OnFailure(absl::Status status) {
    // The limit is the account's, whatever the address.
    if (absl::IsResourceExhausted(status)) last_place_->Set(0);
    if (IsAnswer(status)) store_.ever_answered_.store(true, std::memory_order_relaxed);
    ++attempts_;
    const std::optional<absl::Duration> delay =
        DelayBeforeRetry(store_.settings_, status, attempts_, store_.clock_.Elapsed() - begun_,
                         store_.ever_answered_.load(std::memory_order_relaxed), store_.random_);
    if (!delay) return End([&] { Fail(std::move(status)); });
    store_.room_.Wait(*delay, cancellation_,
                      [this, failure = std::move(status)](absl::Status waited) mutable {
                        if (!waited.ok()) return End([&] { Fail(std::move(waited)); });
                        CountReason(store_.metrics_, failure);
                        Attempt();
                      });
  }

  /// Gives the result by `give`, and ends this.
  template <typename Give>
  void End(Give give) {
    const std::unique_ptr<Call> self(this);
    RetryingStore& store = store_;
    give();
    store.in_flight_.Leave();
  }

  template <typename Give>
  void EndWell(Give give) {
    store_.ever_answered_.store(true, std::memory_order_relaxed);
    End(std::move(give));
  }

  ObjectStore& inner() const { return store_.inner_; }
  const std::shared_ptr<LastPlace>& last_place() const { return last_place_; }

 private:
  RetryingStore& store_;
  const std::shared_ptr<Cancellation> cancellation_;
  const absl::Duration begun_;
  const std::shared_ptr<LastPlace> last_place_ = std::make_shared<LastPlace>();
  int attempts_ = 0;  // That failed in a row.
};

class RetryingStore::ListCall final : public Call {
 public:
  ListCall(RetryingStore& store, ListRequest request, ListCallback done)
      : Call(store, request.cancellation), request_(std::move(request)), done_(std::move(done)) {
    request_.last_place = last_place();
  }

 private:
  void Attempt() override {
    inner().List(request_, [this](absl::StatusOr<ListPage> page) {
      if (!page.ok()) return OnFailure(page.status());
      EndWell([&] { std::move(done_)(std::move(page)); });
    });
  }
  void Fail(absl::Status status) override { std::move(done_)(std::move(status)); }

  ListRequest request_;
  ListCallback done_;
};

class RetryingStore::HeadCall final : public Call {
 public:
  HeadCall(RetryingStore& store, std::string key, HeadCallback done)
      : Call(store, nullptr), key_(std::move(key)), done_(std::move(done)) {}

 private:
  void Attempt() override {
    inner().Head(key_, [this](absl::StatusOr<ObjectInfo> info) {
      if (!info.ok()) return OnFailure(info.status());
      EndWell([&] { std::move(done_)(std::move(info)); });
    });
  }
  void Fail(absl::Status status) override { std::move(done_)(std::move(status)); }

  const std::string key_;
  HeadCallback done_;
};

class RetryingStore::GetCall final : public Call, public GetSink {
 public:
  GetCall(RetryingStore& store, GetRequest request, GetSink* sink)
      : Call(store, request.cancellation), request_(std::move(request)), sink_(sink) {
    request_.last_place = last_place();
  }

 private:
  // request_ always asks for what is still missing.
  void Attempt() override { inner().Get(request_, this); }

  void OnVersion(absl::string_view etag) override {
    version_ = std::string(etag);
    sink_->OnVersion(etag);
  }
  void OnObjectCrc64(uint64_t crc) override { sink_->OnObjectCrc64(crc); }

  void OnData(absl::Span<const char> data) override {
    request_.range.begin += data.size();
    seen_data_ = true;
    sink_->OnData(data);
    NoteProgress();
  }

  void OnDone(absl::Status status) override {
    if (status.ok()) return EndWell([&] { sink_->OnDone(std::move(status)); });
    if (request_.range.empty()) return EndWell([&] { sink_->OnDone(absl::OkStatus()); });
    // What follows must belong to what the sink already has.
    if (seen_data_ && request_.if_match.empty()) request_.if_match = version_;
    OnFailure(std::move(status));
  }

  void Fail(absl::Status status) override { sink_->OnDone(std::move(status)); }

  GetRequest request_;
  GetSink* const sink_;
  std::string version_;  // Of the latest answer.
  bool seen_data_ = false;
};

RetryingStore::RetryingStore(ObjectStore& inner, const RetrySettings& settings, const Clock& clock,
                             Executor& executor, UniformRandom random, StoreMetrics& metrics)
    : inner_(inner),
      settings_(settings),
      clock_(clock),
      random_(std::move(random)),
      metrics_(metrics),
      room_(executor) {}

RetryingStore::~RetryingStore() {
  Close();
  in_flight_.WaitForNone();
}

void RetryingStore::List(ListRequest request, ListCallback done) {
  (new ListCall(*this, std::move(request), std::move(done)))->Begin();
}

void RetryingStore::Get(GetRequest request, GetSink* sink) {
  (new GetCall(*this, std::move(request), sink))->Begin();
}

void RetryingStore::Head(std::string key, HeadCallback done) {
  (new HeadCall(*this, std::move(key), std::move(done)))->Begin();
}

}  // namespace bucketvol
