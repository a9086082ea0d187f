#include "mounter/objstore/curl_loop.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"
#include "mounter/objstore/plain_connections.h"
#include "mounter/objstore/poller.h"
#include "mounter/objstore/transfer_failure.h"
#include "mounter/objstore/transfer_watch.h"
#include "mounter/objstore/transport_inbox.h"

namespace bucketvol {
namespace {

// libcurl's largest. One read takes a whole page of a listing off the socket.
constexpr long kReceiveBuffer = 512 * 1024;
// Time limits are checked this often; they are not exact.
constexpr absl::Duration kSweepInterval = absl::Milliseconds(50);
constexpr size_t kMostIdleTransfers = 256;

using EasyHandle = std::unique_ptr<CURL, decltype([](CURL* easy) { curl_easy_cleanup(easy); })>;
using MultiHandle = std::unique_ptr<CURLM, decltype([](CURLM* multi) { curl_multi_cleanup(multi); })>;
using ShareHandle = std::unique_ptr<CURLSH, decltype([](CURLSH* share) { curl_share_cleanup(share); })>;

// What becomes of a request. Kept and used again, as setting up an easy handle costs more than a request.
struct Transfer {
  EasyHandle easy;
  class CurlLoop* loop = nullptr;
  uint64_t id = 0;
  size_t index = 0;  // In the list of those under way.
  HttpRequest request;
  HttpResponseSink* sink = nullptr;
  uint64_t cancel_action = 0;
  PlainConnection* plain = nullptr;  // Over which it goes, if not by libcurl.
  bool in_multi = false;             // libcurl is at it.
  bool connect_only = false;         // It only makes the connection.
  HttpResponseHead head;
  bool head_given = false;
  bool unwanted = false;          // The sink has had enough.
  bool awaits_handshake = false;  // TCP stands, and the other side has to say something first.
  TransferWatch watch;
  std::string header_text;               // The lines, each with a NUL.
  std::vector<curl_slist> header_lines;  // Views of header_text.
  std::string proxy;
  char error[CURL_ERROR_SIZE] = "";
};

// One thread with its own connections. libcurl makes them all, and speaks TLS and to proxies. Over plain ones
// requests go without it, which halves what they cost.
class CurlLoop final : public HttpLoop {
 public:
  CurlLoop(const TransportSettings& settings, const Clock& clock, AddressBook& addresses, Poller poller)
      : settings_(settings),
        addresses_(addresses),
        limits_{settings.connect_timeout, settings.first_byte_timeout, settings.stall_timeout},
        clock_(clock),
        poller_(std::move(poller)),
        inbox_(poller_),
        share_(curl_share_init()),
        multi_(curl_multi_init()),
        plain_(poller_, static_cast<size_t>(settings.max_connections)) {
    curl_share_setopt(share_.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, OnSocket);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, OnTimer);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(settings.max_connections));
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
    thread_ = std::thread([this] { Run(); });
    pthread_setname_np(thread_.native_handle(), "bv-http");
  }

  ~CurlLoop() override {
    inbox_.Stop();
    thread_.join();
    idle_.clear();
    multi_.reset();  // Closes connections, which still tell poller_.
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
      Act(event.fd, (event.readable ? CURL_CSELECT_IN : 0) | (event.writable ? CURL_CSELECT_OUT : 0) |
                        (event.failed ? CURL_CSELECT_ERR : 0));
    });
    inbox_.Awake();
    now_ = clock_.Elapsed();
    if (now_ >= timer_) {
      timer_ = absl::InfiniteDuration();
      Act(CURL_SOCKET_TIMEOUT, 0);
    }
    Reap();
    if (now_ >= next_sweep_) Sweep();
  }

  absl::Duration NextWait() const {
    if (active_.empty()) return timer_ - now_;
    return std::min(timer_, next_sweep_) - now_;
  }

  void Act(curl_socket_t fd, int what) {
    int running = 0;
    curl_multi_socket_action(multi_.get(), fd, what, &running);
  }

  void Reap() {
    int queued = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_.get(), &queued)) {
      if (message->msg != CURLMSG_DONE) continue;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      const CURLcode code = message->data.result;
      if (!transfer->connect_only || code != CURLE_OK) {
        Finish(*transfer, Outcome(*transfer, code));
      } else if (PlainConnection* const connection = TakeConnection(*transfer)) {
        SendOver(*connection, *transfer);
      } else {
        Finish(*transfer, StatusOf({PlainConnection::Outcome::kBroken, errno}, transfer->request.url));
      }
    }
  }

  void Sweep() {
    next_sweep_ = now_ + kSweepInterval;
    for (size_t i = active_.size(); i > 0; --i) {
      Transfer& transfer = *active_[i - 1];
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

  std::unique_ptr<Transfer> TakeIdle() {
    if (idle_.empty()) return MakeTransfer();
    std::unique_ptr<Transfer> transfer = std::move(idle_.back());
    idle_.pop_back();
    return transfer;
  }

  void Start(HttpRequest request, HttpResponseSink* sink, bool shut_down) {
    active_.push_back(TakeIdle());
    Transfer& transfer = *active_.back();
    transfer.index = active_.size() - 1;
    transfer.id = next_id_++;
    transfer.request = std::move(request);
    transfer.sink = sink;
    transfer.cancel_action = 0;
    transfer.head.Clear();
    transfer.head_given = transfer.unwanted = transfer.awaits_handshake = false;
    transfer.watch.Begin(now_);
    if (shut_down) return;  // EndAll follows.
    if (transfer.request.cancellation) {
      transfer.cancel_action =
          transfer.request.cancellation->AddAction([this, id = transfer.id] { inbox_.Cancel(id); });
    }
    const UrlOrigin origin = OriginOf(transfer.request.url);
    transfer.proxy = proxies_.For(settings_.proxy, origin.scheme, origin.host);
    const bool plain = origin.scheme == "http" && transfer.proxy.empty();
    PlainConnection* const idle = plain ? plain_.TakeIdle(origin.authority, now_) : nullptr;
    return idle != nullptr ? SendOver(*idle, transfer) : GiveToCurl(transfer, /*connect_only=*/plain);
  }

  void GiveToCurl(Transfer& transfer, bool connect_only) {
    transfer.connect_only = connect_only;
    SetOptions(transfer);
    curl_multi_add_handle(multi_.get(), transfer.easy.get());
    transfer.in_multi = true;
  }

  void TakeFromCurl(Transfer& transfer) {
    if (std::exchange(transfer.in_multi, false)) curl_multi_remove_handle(multi_.get(), transfer.easy.get());
  }

  // libcurl closes its own descriptor of the connection that it has made. Null: there are no more
  // descriptors.
  PlainConnection* TakeConnection(Transfer& transfer) {
    curl_socket_t fd = CURL_SOCKET_BAD;
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_ACTIVESOCKET, &fd);
    UniqueFd own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own.valid()) return nullptr;
    TakeFromCurl(transfer);
    return &plain_.Add(std::move(own), std::string(OriginOf(transfer.request.url).authority));
  }

  void SendOver(PlainConnection& connection, Transfer& transfer) {
    transfer.plain = &connection;
    connection.user = &transfer;
    transfer.watch.Connected(now_);
    Conclude(transfer, connection.Send(transfer.request, settings_.user_agent, transfer.sink));
  }

  void OnPlain(PlainConnection& connection, const Poller::Event& event) {
    auto* const transfer = static_cast<Transfer*>(connection.user);
    if (transfer == nullptr) return plain_.Close(connection);  // The server does not want to keep it.
    PlainConnection::Outcome outcome;
    if (event.writable) outcome = connection.Write();
    if (outcome.kind == outcome.kGoesOn && (event.readable || event.failed)) {
      outcome = connection.Read(plain_.buffer());
      if (connection.answered()) transfer->watch.Received(now_);
    }
    Conclude(*transfer, outcome);
  }

  void Conclude(Transfer& transfer, PlainConnection::Outcome outcome) {
    PlainConnection& connection = *transfer.plain;
    if (outcome.kind == outcome.kGoesOn) return plain_.Watch(connection);
    if (outcome.kind == outcome.kBroken && connection.used_before && !connection.answered()) {
      plain_.Close(*std::exchange(transfer.plain, nullptr));  // The server had given it up already.
      return GiveToCurl(transfer, /*connect_only=*/true);
    }
    if (outcome.kind == outcome.kWhole) plain_.Keep(*std::exchange(transfer.plain, nullptr), now_);
    Finish(transfer, StatusOf(outcome, transfer.request.url));
  }

  // Takes the transfer back and tells its sink, which may send the next request at once.
  void Finish(Transfer& transfer, absl::Status status) {
    TakeFromCurl(transfer);
    if (transfer.plain != nullptr) plain_.Close(*std::exchange(transfer.plain, nullptr));
    if (transfer.request.cancellation) transfer.request.cancellation->RemoveAction(transfer.cancel_action);
    HttpResponseSink* const sink = transfer.sink;
    transfer.request = {};
    active_.back()->index = transfer.index;
    std::swap(active_[transfer.index], active_.back());
    if (idle_.size() < kMostIdleTransfers) idle_.push_back(std::move(active_.back()));
    active_.pop_back();
    in_flight_.fetch_sub(1, std::memory_order_relaxed);
    sink->OnDone(std::move(status));
  }

  std::unique_ptr<Transfer> MakeTransfer();
  void SetOptions(Transfer& transfer);
  static void SetHeaders(Transfer& transfer);
  absl::Status Outcome(const Transfer& transfer, CURLcode code) const;

  static int OnSocket(CURL*, curl_socket_t fd, int what, void* loop, void*);
  static int OnTimer(CURLM*, long milliseconds, void* loop);
  static curl_socket_t OnOpenSocket(void* transfer, curlsocktype, curl_sockaddr* address);
  static int OnCloseSocket(void* loop, curl_socket_t fd);
  static int OnConnected(void* transfer, char*, char*, int, int);
  static size_t OnHeader(char* data, size_t, size_t size, void* transfer);
  static size_t OnBody(char* data, size_t, size_t size, void* transfer);

  const TransportSettings& settings_;
  AddressBook& addresses_;
  const TransferLimits limits_;
  const Clock& clock_;
  std::atomic<int> in_flight_{0};

  Poller poller_;
  TransportInbox inbox_;

  // Of the loop's thread alone.
  ShareHandle share_;  // TLS sessions: the next connection to a host skips half of the handshake.
  MultiHandle multi_;
  PlainConnections plain_;
  absl::Duration now_;
  absl::Duration timer_ = absl::InfiniteDuration();  // When libcurl wants to be called.
  absl::Duration next_sweep_;
  uint64_t next_id_ = 1;
  LatestProxy proxies_;
  std::vector<std::unique_ptr<Transfer>> active_;
  std::vector<std::unique_ptr<Transfer>> idle_;
  std::thread thread_;
};

// --- What libcurl is told ---

std::unique_ptr<Transfer> CurlLoop::MakeTransfer() {
  auto transfer = std::make_unique<Transfer>();
  transfer->loop = this;
  transfer->easy.reset(curl_easy_init());
  CURL* const easy = transfer->easy.get();
  curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer.get());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
  curl_easy_setopt(easy, CURLOPT_SHARE, share_.get());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBuffer);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(settings_.connect_timeout)));
  curl_easy_setopt(easy, CURLOPT_USERAGENT, settings_.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "");  // ProxyFor has decided; libcurl must not ask the environment.
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, settings_.check_certificate ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, settings_.check_certificate ? 2L : 0L);
  if (!settings_.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, settings_.ca_file.c_str());
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, OnOpenSocket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer.get());
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, OnCloseSocket);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, OnConnected);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer.get());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer.get());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer.get());
  return transfer;
}

void CurlLoop::SetOptions(Transfer& transfer) {
  CURL* const easy = transfer.easy.get();
  transfer.error[0] = '\0';
  curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, transfer.connect_only ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_URL, transfer.request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROXY, transfer.proxy.c_str());
  switch (transfer.request.method) {
    case HttpMethod::kGet:
      curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
      break;
    case HttpMethod::kHead:
      curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
      break;
  }
  SetHeaders(transfer);
}

void CurlLoop::SetHeaders(Transfer& transfer) {
  const std::vector<HttpHeader>& headers = transfer.request.headers;
  size_t size = 0;
  for (const HttpHeader& header : headers) size += header.name.size() + header.value.size() + 3;
  transfer.header_text.clear();
  transfer.header_text.reserve(size);  // From here on nothing moves.
  transfer.header_lines.clear();
  transfer.header_lines.reserve(headers.size());
  for (const HttpHeader& header : headers) {
    char* const line = transfer.header_text.data() + transfer.header_text.size();
    absl::StrAppend(&transfer.header_text, header.name, ": ", header.value, absl::string_view("\0", 1));
    if (!transfer.header_lines.empty()) transfer.header_lines.back().next = &transfer.header_lines.back() + 1;
    transfer.header_lines.push_back({line, nullptr});
  }
  curl_easy_setopt(transfer.easy.get(), CURLOPT_HTTPHEADER,
                   headers.empty() ? nullptr : transfer.header_lines.data());
}

// --- What libcurl tells ---

int CurlLoop::OnSocket(CURL* easy, curl_socket_t fd, int what, void* loop, void*) {
  Poller& poller = static_cast<CurlLoop*>(loop)->poller_;
  if (what == CURL_POLL_REMOVE) {
    poller.Forget(fd);
    return 0;
  }
  poller.Watch(fd, {.read = (what & CURL_POLL_IN) != 0, .write = (what & CURL_POLL_OUT) != 0});
  Transfer* transfer = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
  if (transfer != nullptr && (what & CURL_POLL_IN) != 0 && !transfer->watch.connected())
    transfer->awaits_handshake = true;
  return 0;
}

int CurlLoop::OnTimer(CURLM*, long milliseconds, void* loop) {
  auto& self = *static_cast<CurlLoop*>(loop);
  self.timer_ =
      milliseconds < 0 ? absl::InfiniteDuration() : self.clock_.Elapsed() + absl::Milliseconds(milliseconds);
  return 0;
}

curl_socket_t CurlLoop::OnOpenSocket(void* data, curlsocktype, curl_sockaddr* address) {
  const auto& transfer = *static_cast<Transfer*>(data);
  if (transfer.proxy.empty()) {
    const std::string host(OriginOf(transfer.request.url).host);
    const SocketAddress offered = SocketAddress::Of(&address->addr, address->addrlen);
    const SocketAddress picked = transfer.loop->addresses_.InTurn(host, offered);
    std::memcpy(&address->addr, &picked.storage,
                picked.size);  // Of the same family, and so of the same size.
  }
  const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd >= 0) transfer.loop->poller_.Opened(fd);
  return fd;
}

int CurlLoop::OnCloseSocket(void* loop, curl_socket_t fd) {
  static_cast<CurlLoop*>(loop)->poller_.Closing(fd);
  return close(fd);
}

int CurlLoop::OnConnected(void* data, char*, char*, int, int) {
  auto& transfer = *static_cast<Transfer*>(data);
  transfer.watch.Connected(transfer.loop->now_);
  return CURL_PREREQFUNC_OK;
}

size_t CurlLoop::OnHeader(char* data, size_t, size_t size, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  transfer.watch.Received(transfer.loop->now_);
  if (transfer.head_given) return size;  // A trailer.
  if (transfer.head.TakeLine({data, size})) {
    transfer.head_given = true;
    transfer.unwanted = !transfer.sink->OnHead(transfer.head);
  }
  return transfer.unwanted ? 0 : size;
}

size_t CurlLoop::OnBody(char* data, size_t, size_t size, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  transfer.watch.Received(transfer.loop->now_);
  transfer.unwanted = !transfer.sink->OnBody({data, size});
  return transfer.unwanted ? 0 : size;
}

TransferFailure::Kind KindOf(CURLcode code) {
  static constexpr std::pair<CURLcode, TransferFailure::Kind> kKinds[] = {
      {CURLE_COULDNT_RESOLVE_HOST, TransferFailure::kNoSuchHost},
      {CURLE_COULDNT_RESOLVE_PROXY, TransferFailure::kNoSuchProxy},
      {CURLE_COULDNT_CONNECT, TransferFailure::kRefused},
      {CURLE_OPERATION_TIMEDOUT, TransferFailure::kTimeout},
      {CURLE_PEER_FAILED_VERIFICATION, TransferFailure::kUntrusted},
      {CURLE_SSL_CACERT_BADFILE, TransferFailure::kBadCaFile},
      {CURLE_SSL_CONNECT_ERROR, TransferFailure::kTls},
      {CURLE_UNSUPPORTED_PROTOCOL, TransferFailure::kNotHttp},
      {CURLE_WEIRD_SERVER_REPLY, TransferFailure::kNotHttp},
      {CURLE_URL_MALFORMAT, TransferFailure::kBadUrl},
      {CURLE_PARTIAL_FILE, TransferFailure::kCutOff}};
  for (const auto& [known, kind] : kKinds) {
    if (code == known) return kind;
  }
  return TransferFailure::kBroken;
}

absl::Status CurlLoop::Outcome(const Transfer& transfer, CURLcode code) const {
  if (transfer.unwanted) return absl::AbortedError(kNotWanted);
  if (code == CURLE_OK && transfer.head_given) return absl::OkStatus();
  long os_error = 0, proxy_answer = 0;
  curl_easy_getinfo(transfer.easy.get(), CURLINFO_OS_ERRNO, &os_error);
  curl_easy_getinfo(transfer.easy.get(), CURLINFO_HTTP_CONNECTCODE, &proxy_answer);
  TransferFailure failure;
  failure.url = transfer.request.url;
  failure.proxy = transfer.proxy;
  failure.connected = transfer.watch.connected();
  failure.connect_timeout = settings_.connect_timeout;
  // Behind a proxy the handshake begins once the proxy has connected.
  const bool reached = failure.proxy.empty() ? transfer.awaits_handshake : proxy_answer / 100 == 2;
  failure.tls_begun = reached && OriginOf(failure.url).scheme == "https";
  failure.os_error = static_cast<int>(os_error);
  failure.proxy_answer = static_cast<int>(proxy_answer);
  // libcurl's own words may name the proxy, with its password.
  const bool own_words = transfer.proxy.empty() && transfer.error[0] != '\0';
  failure.detail = own_words ? transfer.error : curl_easy_strerror(code);
  failure.kind = KindOf(code);
  return StatusOfFailure(failure);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpLoop>> MakeCurlLoop(const TransportSettings& settings, const Clock& clock,
                                                       AddressBook& addresses) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialised != CURLE_OK) return absl::InternalError("libcurl cannot be initialised");
  ASSIGN_OR_RETURN(Poller poller, Poller::Make());
  return std::make_unique<CurlLoop>(settings, clock, addresses, std::move(poller));
}

}  // namespace bucketvol
