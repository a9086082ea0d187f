#include "mounter/objstore/http_loop.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mounter/base/status_macros.h"
#include "mounter/objstore/curl_engine.h"
#include "mounter/objstore/http_transfer.h"
#include "mounter/objstore/plain_connections.h"
#include "mounter/objstore/poller.h"
#include "mounter/objstore/proxy_rules.h"
#include "mounter/objstore/transfer_failure.h"
#include "mounter/objstore/transport_inbox.h"

namespace bucketvol {
namespace {

// Time limits are checked this often; they are not exact.
constexpr absl::Duration kSweepInterval = absl::Milliseconds(50);
constexpr size_t kMostIdleTransfers = 256;

// One thread with its own connections. libcurl makes them all, and speaks TLS and to proxies. Over plain ones
// requests go without it, which halves what they cost.
class EventLoop final : public HttpLoop {
 public:
  EventLoop(const TransportSettings& settings, const Clock& clock, AddressBook& addresses, Poller poller)
      : settings_(settings),
        limits_{settings.connect_timeout, settings.first_byte_timeout, settings.stall_timeout},
        clock_(clock),
        addresses_(addresses),
        poller_(std::move(poller)),
        inbox_(poller_),
        plain_(poller_, static_cast<size_t>(settings.max_connections)) {}

  ~EventLoop() override {
    if (!thread_.joinable()) return;
    inbox_.Stop();
    thread_.join();
  }

  absl::Status Begin() {
    ASSIGN_OR_RETURN(curl_, MakeCurlEngine(settings_, clock_, addresses_, poller_));
    thread_ = std::thread([this] { Run(); });
    pthread_setname_np(thread_.native_handle(), "bv-http");
    return absl::OkStatus();
  }

  void Send(HttpRequest request, HttpResponseSink* sink) override {
    in_flight_.fetch_add(1, std::memory_order_relaxed);
    inbox_.Submit(std::move(request), sink);
  }

  void Shutdown() override { inbox_.ShutDown(); }
  int in_flight() const override { return in_flight_.load(std::memory_order_relaxed); }

 private:
  void Run() {
    TransportInbox::Work work;
    while (true) {
      inbox_.Take(work);
      if (work.stop && work.empty() && active_.empty()) return;
      now_ = clock_.Elapsed();
      for (auto& [request, sink] : work.submissions) Start(std::move(request), sink, work.shut_down);
      for (const uint64_t id : work.cancelled) EndCancelled(id);
      if (work.shut_down) EndAll();
      Turn(work.empty() ? NextWait() : absl::ZeroDuration());
    }
  }

  void Turn(absl::Duration wait) {
    poller_.Wait(wait, [this](const Poller::Event& event) {
      if (PlainConnection* const plain = plain_.Find(event.fd)) return OnPlain(*plain, event);
      curl_->OnReady(event, now_);
    });
    inbox_.Awake();
    now_ = clock_.Elapsed();
    if (now_ >= curl_->timer()) curl_->OnTimer(now_);
    Reap();
    if (now_ >= next_sweep_) Sweep();
  }

  absl::Duration NextWait() const {
    return (active_.empty() ? curl_->timer() : std::min(curl_->timer(), next_sweep_)) - now_;
  }

  void Reap() {
    while (std::optional<CurlEngine::Done> done = curl_->NextDone()) {
      if (done->work == CurlEngine::Work::kRequest || !done->status.ok()) {
        Finish(done->transfer, std::move(done->status));
      } else {
        UseConnection(done->transfer);
      }
    }
  }

  void UseConnection(HttpTransfer& transfer) {
    UniqueFd connection = curl_->TakeConnection(transfer);
    if (!connection.valid())
      return Finish(transfer, StatusOf({PlainConnection::Outcome::kBroken, errno}, transfer.request.url));
    const UrlOrigin origin = OriginOf(transfer.request.url);
    SendOver(plain_.Add(std::move(connection), std::string(origin.authority), now_), transfer);
  }

  void Sweep() {
    next_sweep_ = now_ + kSweepInterval;
    for (size_t i = active_.size(); i > 0; --i) {
      HttpTransfer& transfer = *active_[i - 1];
      const absl::Duration deadline = std::min(transfer.request.deadline, settings_.total_timeout);
      const std::optional<std::string> late = transfer.watch.Late(now_, limits_, deadline);
      if (late) Finish(transfer, FailureOfTimeout(transfer.request.url, *late));
    }
  }

  void EndCancelled(uint64_t id) {
    const auto found =
        std::find_if(active_.begin(), active_.end(), [&](auto& each) { return each->id == id; });
    if (found != active_.end()) Finish(**found, absl::CancelledError("the request was cancelled"));
  }

  void EndAll() {
    while (!active_.empty())
      Finish(*active_.back(), absl::CancelledError("the object store is shutting down"));
  }

  std::unique_ptr<HttpTransfer> TakeIdle() {
    if (idle_.empty()) return curl_->MakeTransfer();
    std::unique_ptr<HttpTransfer> transfer = std::move(idle_.back());
    idle_.pop_back();
    return transfer;
  }

  void Start(HttpRequest request, HttpResponseSink* sink, bool shut_down) {
    active_.push_back(TakeIdle());
    HttpTransfer& transfer = *active_.back();
    transfer.index = active_.size() - 1;
    transfer.id = next_id_++;
    transfer.request = std::move(request);
    transfer.sink = sink;
    transfer.cancel_action = 0;
    transfer.head.Clear();
    transfer.peer = {};
    transfer.head_given = transfer.unwanted = false;
    transfer.watch.Begin(now_);
    if (shut_down) return;  // EndAll follows.
    if (transfer.request.cancellation) {
      transfer.cancel_action =
          transfer.request.cancellation->AddAction([this, id = transfer.id] { inbox_.Cancel(id); });
      if (transfer.request.cancellation->cancelled()) return EndCancelled(transfer.id);
    }
    Route(transfer);
  }

  void Route(HttpTransfer& transfer) {
    const UrlOrigin origin = OriginOf(transfer.request.url);
    transfer.proxy = proxies_.For(settings_.proxy, origin.scheme, origin.host);
    if (origin.scheme != "http" || !transfer.proxy.empty())
      return curl_->Begin(transfer, CurlEngine::Work::kRequest);
    PlainConnection* const idle = plain_.TakeIdle(
        origin.authority, now_, [&, last = transfer.last_place()](const PlainConnection& each) {
          return addresses_.IsGood(origin.host, each.peer(), last);
        });
    if (idle != nullptr) return SendOver(*idle, transfer);
    curl_->Begin(transfer, CurlEngine::Work::kConnection);
  }

  void SendOver(PlainConnection& connection, HttpTransfer& transfer) {
    transfer.plain = &connection;
    connection.user = &transfer;
    transfer.GoesTo(connection.peer(), connection.made(), now_);
    const PlainConnection::Outcome outcome =
        connection.Send(transfer.request, settings_.user_agent, transfer.sink);
    NoteProgress(transfer);
    Conclude(transfer, outcome);
  }

  void NoteProgress(HttpTransfer& transfer) {
    const PlainConnection& connection = *transfer.plain;
    if (!connection.wants_room()) transfer.Written(connection.used_before);
    if (!connection.answered()) return;
    transfer.watch.Received(now_);
    transfer.Answered();
    addresses_.OnBytes(transfer.peer, transfer.peer_since);
  }

  void OnPlain(PlainConnection& connection, const Poller::Event& event) {
    auto* const transfer = static_cast<HttpTransfer*>(connection.user);
    if (transfer == nullptr) return plain_.Close(connection);  // The server does not want to keep it.
    PlainConnection::Outcome outcome;
    if (event.writable) outcome = connection.Write();
    if (outcome.kind == outcome.kGoesOn && (event.readable || event.failed)) {
      outcome = connection.Read(plain_.buffer());
    }
    NoteProgress(*transfer);
    Conclude(*transfer, outcome);
  }

  void Conclude(HttpTransfer& transfer, PlainConnection::Outcome outcome) {
    PlainConnection& connection = *transfer.plain;
    if (outcome.kind == outcome.kGoesOn) return plain_.Watch(connection);
    if (outcome.kind == outcome.kBroken && connection.used_before && !connection.answered()) {
      plain_.Close(*std::exchange(transfer.plain, nullptr));  // The server had given it up already.
      transfer.SendAnew(now_);
      return curl_->Begin(transfer, CurlEngine::Work::kConnection);
    }
    if (outcome.kind == outcome.kBroken && !connection.answered()) addresses_.OnFailure(transfer.peer);
    if (outcome.kind == outcome.kWhole) plain_.Keep(*std::exchange(transfer.plain, nullptr), now_);
    Finish(transfer, StatusOf(outcome, transfer.request.url));
  }

  // Takes the transfer back and tells its sink, which may send the next request at once.
  void Finish(HttpTransfer& transfer, absl::Status status) {
    const bool gave_up = absl::IsCancelled(status) || absl::IsDeadlineExceeded(status);
    if (gave_up && transfer.watch.connected())
      addresses_.OnSilence(transfer.peer, transfer.watch.silent_since());
    curl_->Leave(transfer);
    if (transfer.plain != nullptr) plain_.Close(*std::exchange(transfer.plain, nullptr));
    if (transfer.request.cancellation) transfer.request.cancellation->RemoveAction(transfer.cancel_action);
    HttpResponseSink* const sink = transfer.sink;
    transfer.Ended();
    transfer.request = {};
    active_.back()->index = transfer.index;
    std::swap(active_[transfer.index], active_.back());
    if (idle_.size() < kMostIdleTransfers) idle_.push_back(std::move(active_.back()));
    active_.pop_back();
    in_flight_.fetch_sub(1, std::memory_order_relaxed);
    sink->OnDone(std::move(status));
  }

  const TransportSettings& settings_;
  const TransferLimits limits_;
  const Clock& clock_;
  AddressBook& addresses_;
  std::atomic<int> in_flight_{0};

  Poller poller_;
  TransportInbox inbox_;

  // Of the loop's thread alone.
  std::unique_ptr<CurlEngine> curl_;
  PlainConnections plain_;
  absl::Duration now_;
  absl::Duration next_sweep_;
  uint64_t next_id_ = 1;
  LatestProxy proxies_;
  std::vector<std::unique_ptr<HttpTransfer>> active_;
  std::vector<std::unique_ptr<HttpTransfer>> idle_;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpLoop>> MakeHttpLoop(const TransportSettings& settings, const Clock& clock,
                                                       AddressBook& addresses) {
  ASSIGN_OR_RETURN(Poller poller, Poller::Make());
  auto loop = std::make_unique<EventLoop>(settings, clock, addresses, std::move(poller));
  RETURN_IF_ERROR(loop->Begin());
  return loop;
}

}  // namespace bucketvol
