#include "mounter/objstore/hedged_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/objstore/store_error.h"

namespace bucketvol {

// One request to the store below. What is not said to be its own belongs to its call.
class HedgedStore::Leg final : public GetSink {
 public:
  Leg(std::shared_ptr<Call> owner, ByteRange range, absl::Duration now)
      : call(std::move(owner)), at(range.begin), progress{range.size(), now, now} {}

  void OnVersion(absl::string_view etag) override { version = std::string(etag); }
  void OnObjectCrc64(uint64_t crc) override { object_crc64 = crc; }
  void OnData(absl::Span<const char> data) override;
  void OnDone(absl::Status status) override;

  const std::shared_ptr<Call> call;
  Cancellation cancellation;
  std::shared_ptr<Leg> self;  // From the start to OnDone.

  // Of the thread that brings the answer.
  std::string version;
  std::optional<uint64_t> object_crc64;
  bool version_given = false;

  // Guarded by the store's lock.
  uint64_t at;  // The next byte it brings.
  GetProgress progress;
  bool dropped = false;      // Its bytes are not wanted any more.
  bool stalled = false;      // It is cancelled for that.
  bool second = false;       // It goes out beside an older one. Fixed before its start.
  bool for_silence = false;  // A second one: the first had fallen silent. Else it was only slow.
};

// One GET of the caller. Its state is guarded by the store's lock, but for what is fixed.
class HedgedStore::Call : public std::enable_shared_from_this<Call> {
 public:
  Call(HedgedStore& store, GetRequest request, GetSink* sink)
      : store_(store), request_(std::move(request)), sink_(sink), position_(request_.range.begin) {}

  void Begin();
  GetRequest RequestOf(const std::shared_ptr<Leg>& leg) const;
  void OnData(Leg& leg, absl::Span<const char> data);
  void OnDone(Leg& leg, absl::Status status);

  // The store calls these two under its lock. Its analysis cannot tell that this is the lock of store_: they
  // assert it.
  /// Notes once whether the call is slow.
  void JudgeLocked(HedgePolicy& policy, absl::Duration now);
  /// Gives up legs that have stalled, into `stalled`; returns a second leg to start, or null.
  std::shared_ptr<Leg> HelpLocked(HedgePolicy& policy, absl::Duration now,
                                  std::vector<std::shared_ptr<Leg>>& stalled);

  HedgedStore& store() { return store_; }
  size_t index = 0;  // In the store's list.

 private:
  void CancelLegs();
  absl::Span<const char> AcceptLocked(Leg& leg, absl::Span<const char> data, std::shared_ptr<Leg>& loser)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_.mu_);
  std::shared_ptr<Leg> LoserLocked(const Leg& ahead) ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_.mu_);
  void EndDelivery();
  bool DecideLocked(const Leg& leg, absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_.mu_);
  std::shared_ptr<Leg> TakeLocked(const Leg& leg) ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_.mu_);
  absl::Status Stalled(const Leg& leg) const;
  void Give();

  HedgedStore& store_;
  const GetRequest request_;
  GetSink* const sink_;
  uint64_t cancel_action_ = 0;

  uint64_t position_ ABSL_GUARDED_BY(store_.mu_);  // The next byte for the sink.
  std::shared_ptr<Leg> older_ ABSL_GUARDED_BY(store_.mu_);
  std::shared_ptr<Leg> newer_ ABSL_GUARDED_BY(store_.mu_);
  bool delivering_ ABSL_GUARDED_BY(store_.mu_) = false;  // A thread is in the sink.
  bool judged_ ABSL_GUARDED_BY(store_.mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(store_.mu_) = false;
  std::optional<absl::Status> result_;  // Set once, under the lock; afterwards it stays.
};

void HedgedStore::Leg::OnData(absl::Span<const char> data) { call->OnData(*this, data); }

void HedgedStore::Leg::OnDone(absl::Status status) {
  const std::shared_ptr<Leg> keep = std::move(self);
  HedgedStore& store = call->store();
  call->OnDone(*this, std::move(status));
  store.in_flight_.Leave();
}

// The action first: once the call is in the list it may be helped, and end, before its own leg has gone out.
void HedgedStore::Call::Begin() {
  const absl::Duration now = store_.clock_.Elapsed();
  const auto leg = std::make_shared<Leg>(shared_from_this(), request_.range, now);
  if (request_.cancellation) cancel_action_ = request_.cancellation->AddAction([this] { CancelLegs(); });
  bool cancelled = false;
  {
    absl::MutexLock lock(&store_.mu_);
    store_.policy_.OnBegin();
    older_ = leg;
    cancelled = cancelled_;
    index = store_.calls_.size();
    store_.calls_.push_back(shared_from_this());
  }
  if (cancelled) leg->cancellation.Cancel();
  store_.KeepLooking();
  store_.Start(leg);
}

GetRequest HedgedStore::Call::RequestOf(const std::shared_ptr<Leg>& leg) const {
  GetRequest request = request_;
  request.range.begin = leg->at;
  request.second = leg->second;
  request.cancellation = std::shared_ptr<Cancellation>(leg, &leg->cancellation);
  return request;
}

void HedgedStore::Call::CancelLegs() {
  std::shared_ptr<Leg> legs[2];
  {
    absl::MutexLock lock(&store_.mu_);
    cancelled_ = true;
    legs[0] = older_;
    legs[1] = newer_;
  }
  for (const std::shared_ptr<Leg>& leg : legs) {
    if (leg) leg->cancellation.Cancel();
  }
}

void HedgedStore::Call::OnData(Leg& leg, absl::Span<const char> data) {
  absl::Span<const char> fresh;
  std::shared_ptr<Leg> loser;
  const absl::Duration now = store_.clock_.Elapsed();
  {
    absl::MutexLock lock(&store_.mu_);
    store_.policy_.OnByte(leg.progress, now);
    fresh = AcceptLocked(leg, data, loser);
  }
  if (loser) loser->cancellation.Cancel();
  if (fresh.size() < data.size()) store_.CountDiscarded(data.size() - fresh.size());
  if (fresh.empty()) return;
  if (!std::exchange(leg.version_given, true)) {
    sink_->OnVersion(leg.version);
    if (leg.object_crc64) sink_->OnObjectCrc64(*leg.object_crc64);
  }
  sink_->OnData(fresh);
  EndDelivery();
}

absl::Span<const char> HedgedStore::Call::AcceptLocked(Leg& leg, absl::Span<const char> data,
                                                       std::shared_ptr<Leg>& loser) {
  leg.at += data.size();
  if (leg.dropped || result_ || leg.at <= position_) return {};
  if (delivering_) {  // The other one's thread is at it, and one is enough.
    leg.dropped = true;
    loser = leg.self;
    return {};
  }
  delivering_ = true;
  const uint64_t fresh = leg.at - position_;
  position_ = leg.at;
  loser = LoserLocked(leg);
  return data.last(fresh);
}

// The newer leg wins by being ahead; the older by a byte before the newer has one, if its silence was all
// that was wrong. An older one that drips is left to be overtaken.
std::shared_ptr<HedgedStore::Leg> HedgedStore::Call::LoserLocked(const Leg& ahead) {
  if (newer_ == nullptr) return nullptr;
  const bool newer_wins = newer_.get() == &ahead;
  const std::shared_ptr<Leg>& loser = newer_wins ? older_ : newer_;
  if (loser->dropped || (!newer_wins && (newer_->progress.answered || !newer_->for_silence))) return nullptr;
  loser->dropped = true;
  if (newer_wins) {
    store_.policy_.OnGivenUp(loser->progress, store_.clock_.Elapsed());
    store_.metrics_.hedges_won.fetch_add(1, std::memory_order_relaxed);
  }
  return loser;
}

void HedgedStore::Call::EndDelivery() {
  {
    absl::MutexLock lock(&store_.mu_);
    delivering_ = false;
    if (!result_) return;
  }
  Give();
}

void HedgedStore::Call::OnDone(Leg& leg, absl::Status status) {
  const absl::Duration now = store_.clock_.Elapsed();
  std::shared_ptr<Leg> twin;
  bool decided = false;
  bool give = false;
  {
    absl::MutexLock lock(&store_.mu_);
    twin = TakeLocked(leg);
    if (leg.stalled && !cancelled_ && absl::IsCancelled(status)) status = Stalled(leg);
    if (leg.stalled) store_.policy_.OnGivenUp(leg.progress, now);
    if (status.ok() && !leg.dropped) store_.policy_.OnWhole(leg.progress, now);
    decided = !result_ && DecideLocked(leg, status);
    if (decided) {
      if (twin) twin->dropped = true;
      if (!std::exchange(judged_, true) && result_->ok()) store_.policy_.OnVerdict(false);
      store_.ForgetLocked(*this);
    }
    give = decided && !delivering_;
  }
  if (!decided && !status.ok() && !absl::IsCancelled(status)) store_.gate_.OnAnswer(status);
  if (decided && twin) twin->cancellation.Cancel();
  if (give) Give();
}

// Takes a leg that has ended out, and returns the other.
std::shared_ptr<HedgedStore::Leg> HedgedStore::Call::TakeLocked(const Leg& leg) {
  if (older_.get() == &leg) older_ = std::move(newer_);
  newer_ = nullptr;
  return older_;
}

// Sets the result, and takes `status` for it, if the end of this leg is the end of the call.
bool HedgedStore::Call::DecideLocked(const Leg& leg, absl::Status& status) {
  const bool twin_goes_on = older_ != nullptr && !older_->dropped;
  if (position_ == request_.range.end) {
    result_ = absl::OkStatus();
  } else if (twin_goes_on && (leg.dropped || IsRetryable(status))) {
    return false;
  } else {
    result_ = status.ok() ? absl::DataLossError("fewer bytes than asked for") : std::move(status);
  }
  return true;
}

absl::Status HedgedStore::Call::Stalled(const Leg& leg) const {
  StoreError error;
  error.message = leg.progress.answered ? "the answer stalled" : "no answer for too long";
  error.retryable = true;
  error.congestion = Congestion::kServerTrouble;
  return MakeStoreStatus(absl::StatusCode::kDeadlineExceeded,
                         absl::StrCat("cannot read ", Printable(request_.key)), error);
}

void HedgedStore::Call::Give() {
  if (request_.cancellation) request_.cancellation->RemoveAction(cancel_action_);
  sink_->OnDone(*std::move(result_));
}

void HedgedStore::Call::JudgeLocked(HedgePolicy& policy, absl::Duration now) {
  store_.mu_.AssertHeld();
  if (judged_ || older_ == nullptr || !policy.IsSlow(older_->progress, now)) return;
  judged_ = true;
  policy.OnVerdict(true);
}

std::shared_ptr<HedgedStore::Leg> HedgedStore::Call::HelpLocked(HedgePolicy& policy, absl::Duration now,
                                                                std::vector<std::shared_ptr<Leg>>& stalled) {
  store_.mu_.AssertHeld();
  for (const std::shared_ptr<Leg>& leg : {older_, newer_}) {
    if (!leg || leg->dropped || leg->stalled || !policy.HasStalled(leg->progress, now)) continue;
    leg->stalled = true;
    stalled.push_back(leg);
  }
  if (newer_ || !older_ || older_->dropped || older_->stalled || cancelled_) return nullptr;
  if (request_.if_match.empty() || !policy.IsSlow(older_->progress, now)) return nullptr;
  if (!policy.Spend(request_.CurrentPurpose())) return nullptr;
  newer_ = std::make_shared<Leg>(shared_from_this(), ByteRange{position_, request_.range.end}, now);
  newer_->second = true;
  newer_->for_silence = policy.IsSilent(older_->progress, now);
  return newer_;
}

HedgedStore::HedgedStore(ObjectStore& inner, const HedgeSettings& settings, RequestGate& gate,
                         const Clock& clock, Executor& executor, StoreMetrics& metrics)
    : inner_(inner), gate_(gate), clock_(clock), metrics_(metrics), policy_(settings), room_(executor) {}

HedgedStore::~HedgedStore() {
  Close();
  in_flight_.WaitForNone();
}

void HedgedStore::Get(GetRequest request, GetSink* sink) {
  std::make_shared<Call>(*this, std::move(request), sink)->Begin();
}

// The call may be over, and this store gone, when this returns.
void HedgedStore::Start(const std::shared_ptr<Leg>& leg) {
  in_flight_.Enter();
  leg->self = leg;
  inner_.Get(leg->call->RequestOf(leg), leg.get());
}

void HedgedStore::StartSecond(const std::shared_ptr<Leg>& leg) {
  if (!gate_.TryAdmit()) {
    in_flight_.Enter();
    return leg->OnDone(absl::UnavailableError("the request rate leaves no room for a second request"));
  }
  Start(leg);
}

void HedgedStore::CountDiscarded(uint64_t bytes) {
  metrics_.bytes_in.fetch_add(bytes, std::memory_order_relaxed);
  metrics_.bytes_discarded.fetch_add(bytes, std::memory_order_relaxed);
}

void HedgedStore::ForgetLocked(Call& call) {
  const size_t index = call.index;
  calls_.back()->index = index;
  std::swap(calls_[index], calls_.back());
  calls_.pop_back();
}

void HedgedStore::KeepLooking() {
  absl::Duration interval;
  {
    absl::MutexLock lock(&mu_);
    if (looking_ || calls_.empty()) return;
    looking_ = true;
    interval = policy_.LookInterval();
  }
  in_flight_.Enter();
  room_.Wait(interval, nullptr, [this](const absl::Status& status) {
    {
      absl::MutexLock lock(&mu_);
      looking_ = false;
    }
    if (status.ok()) {
      Look();
      KeepLooking();
    }
    in_flight_.Leave();
  });
}

void HedgedStore::Look() {
  const absl::Duration now = clock_.Elapsed();
  std::vector<std::shared_ptr<Leg>> stalled;
  std::vector<std::shared_ptr<Leg>> seconds;
  {
    absl::MutexLock lock(&mu_);
    policy_.Refresh();
    // First all verdicts: they tell a tail from an outage.
    for (const std::shared_ptr<Call>& call : calls_) call->JudgeLocked(policy_, now);
    for (const std::shared_ptr<Call>& call : calls_) {
      if (std::shared_ptr<Leg> second = call->HelpLocked(policy_, now, stalled))
        seconds.push_back(std::move(second));
    }
  }
  metrics_.stalled.fetch_add(stalled.size(), std::memory_order_relaxed);
  for (const std::shared_ptr<Leg>& leg : stalled) leg->cancellation.Cancel();
  for (const std::shared_ptr<Leg>& leg : seconds) StartSecond(leg);
}

}  // namespace bucketvol
