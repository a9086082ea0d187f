#include "mounter/objstore/curl_engine.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "mounter/objstore/proxy_rules.h"
#include "mounter/objstore/transfer_failure.h"

namespace bucketvol {
namespace {

// libcurl's largest. One read takes a whole page of a listing off the socket.
constexpr long kReceiveBuffer = 512 * 1024;

using EasyHandle = std::unique_ptr<CURL, decltype([](CURL* easy) { curl_easy_cleanup(easy); })>;
using MultiHandle = std::unique_ptr<CURLM, decltype([](CURLM* multi) { curl_multi_cleanup(multi); })>;
using ShareHandle = std::unique_ptr<CURLSH, decltype([](CURLSH* share) { curl_share_cleanup(share); })>;

struct Transfer final : HttpTransfer {
  class Engine* engine = nullptr;
  EasyHandle easy;
  CurlEngine::Work work = CurlEngine::Work::kRequest;
  bool in_multi = false;                 // libcurl is at it.
  bool opened = false;                   // A connection of its own; else a kept one carries it.
  bool awaits_handshake = false;         // TCP stands, and the other side has to say something first.
  std::string header_text;               // The lines, each with a NUL.
  std::vector<curl_slist> header_lines;  // Views of header_text.
  char error[CURL_ERROR_SIZE] = "";
};

// MakeTransfer made them all.
Transfer& Own(HttpTransfer& transfer) { return static_cast<Transfer&>(transfer); }

class Engine final : public CurlEngine {
 public:
  Engine(const TransportSettings& settings, const Clock& clock, AddressBook& addresses, Poller& poller)
      : settings_(settings),
        clock_(clock),
        addresses_(addresses),
        poller_(poller),
        share_(curl_share_init()),
        multi_(curl_multi_init()) {
    curl_share_setopt(share_.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, OnSocket);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, OnTimerChange);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(settings.max_connections));
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  }

  std::unique_ptr<HttpTransfer> MakeTransfer() override;

  void Begin(HttpTransfer& of, Work work) override {
    Transfer& transfer = Own(of);
    transfer.work = work;
    transfer.opened = transfer.awaits_handshake = false;
    SetOptions(transfer);
    curl_multi_add_handle(multi_.get(), transfer.easy.get());
    transfer.in_multi = true;
  }

  void Leave(HttpTransfer& of) override {
    Transfer& transfer = Own(of);
    ForgetAttempts(transfer);
    if (std::exchange(transfer.in_multi, false)) curl_multi_remove_handle(multi_.get(), transfer.easy.get());
  }

  void OnReady(const Poller::Event& event, absl::Duration now) override {
    Act(event.fd,
        (event.readable ? CURL_CSELECT_IN : 0) | (event.writable ? CURL_CSELECT_OUT : 0) |
            (event.failed ? CURL_CSELECT_ERR : 0),
        now);
  }

  void OnTimer(absl::Duration now) override {
    timer_ = absl::InfiniteDuration();
    Act(CURL_SOCKET_TIMEOUT, 0, now);
  }

  absl::Duration timer() const override { return timer_; }

  std::optional<Done> NextDone() override {
    int queued = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &queued)) {
      if (message->msg != CURLMSG_DONE) continue;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      return Done{*transfer, transfer->work, Outcome(*transfer, message->data.result)};
    }
    return std::nullopt;
  }

  // libcurl closes its own descriptor of the connection.
  UniqueFd TakeConnection(HttpTransfer& of) override {
    curl_socket_t fd = CURL_SOCKET_BAD;
    curl_easy_getinfo(Own(of).easy.get(), CURLINFO_ACTIVESOCKET, &fd);
    UniqueFd connection(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (connection.valid()) Leave(of);
    return connection;
  }

 private:
  void Act(curl_socket_t fd, int what, absl::Duration now) {
    now_ = now;
    int running = 0;
    curl_multi_socket_action(multi_.get(), fd, what, &running);
  }

  void SetOptions(Transfer& transfer);
  static void SetHeaders(Transfer& transfer);
  absl::Status Outcome(const Transfer& transfer, CURLcode code) const;

  void JudgeAttempt(curl_socket_t fd);
  void ForgetAttempts(const Transfer& transfer);
  static int OnSocket(CURL*, curl_socket_t fd, int what, void* engine, void*);
  static int OnTimerChange(CURLM*, long milliseconds, void* engine);
  static curl_socket_t OnOpenSocket(void* transfer, curlsocktype, curl_sockaddr* address);
  static int OnCloseSocket(void* engine, curl_socket_t fd);
  static int OnConnected(void* transfer, char* ip, char*, int port, int);
  static size_t OnHeader(char* data, size_t, size_t size, void* transfer);
  static size_t OnBody(char* data, size_t, size_t size, void* transfer);

  const TransportSettings& settings_;
  const Clock& clock_;
  AddressBook& addresses_;
  Poller& poller_;
  // Sockets that are being connected, or that TLS is being set up over.
  struct Attempt {
    const Transfer* transfer;
    SocketAddress address;
    absl::Duration begun;
  };
  absl::flat_hash_map<curl_socket_t, Attempt> attempts_;
  ShareHandle share_;  // TLS sessions: the next connection to a host skips half of the handshake.
  MultiHandle multi_;  // Closes connections at its end, which still tell poller_.
  absl::Duration now_;
  absl::Duration timer_ = absl::InfiniteDuration();  // When libcurl wants to be called.
};

// --- What libcurl is told ---

std::unique_ptr<HttpTransfer> Engine::MakeTransfer() {
  auto transfer = std::make_unique<Transfer>();
  transfer->engine = this;
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
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "");  // The transfer says; libcurl must not ask the environment.
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

void Engine::SetOptions(Transfer& transfer) {
  CURL* const easy = transfer.easy.get();
  transfer.error[0] = '\0';
  const bool elsewhere = transfer.last_place() != 0 && transfer.proxy.empty() &&
                         addresses_.HasSeveral(OriginOf(transfer.request.url).host);
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, elsewhere ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, transfer.work == Work::kConnection ? 1L : 0L);
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

void Engine::SetHeaders(Transfer& transfer) {
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

int Engine::OnSocket(CURL* easy, curl_socket_t fd, int what, void* engine, void*) {
  Poller& poller = static_cast<Engine*>(engine)->poller_;
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

int Engine::OnTimerChange(CURLM*, long milliseconds, void* engine) {
  auto& self = *static_cast<Engine*>(engine);
  self.timer_ =
      milliseconds < 0 ? absl::InfiniteDuration() : self.clock_.Elapsed() + absl::Milliseconds(milliseconds);
  return 0;
}

curl_socket_t Engine::OnOpenSocket(void* data, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(data);
  Engine& engine = *transfer.engine;
  transfer.opened = true;
  transfer.SendAnew(engine.now_);
  SocketAddress picked = SocketAddress::Of(&address->addr, address->addrlen);
  if (transfer.proxy.empty()) {
    const std::string host(OriginOf(transfer.request.url).host);
    picked = engine.addresses_.InTurn(host, picked, transfer.last_place());
    std::memcpy(&address->addr, &picked.storage,
                picked.size);  // Of the same family, and so of the same size.
  }
  const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0) return fd;
  engine.poller_.Opened(fd);
  if (transfer.proxy.empty()) engine.attempts_[fd] = {&transfer, picked, engine.clock_.Elapsed()};
  return fd;
}

// What it means for an address that a socket is closed: nothing, unless it was never of use.
void Engine::JudgeAttempt(curl_socket_t fd) {
  const auto attempt = attempts_.find(fd);
  if (attempt == attempts_.end()) return;
  tcp_info state = {};
  socklen_t size = sizeof(state);
  const bool told = getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, &size) == 0;
  if (told && state.tcpi_state == TCP_CLOSE) {
    addresses_.OnFailure(attempt->second.address);
  } else {
    addresses_.OnSilence(attempt->second.address, attempt->second.begun);
  }
  attempts_.erase(attempt);
}

// Nobody waits for them any more, whatever libcurl does with the sockets.
void Engine::ForgetAttempts(const Transfer& transfer) {
  absl::erase_if(attempts_, [&](const auto& each) {
    const Attempt& attempt = each.second;
    if (attempt.transfer != &transfer) return false;
    addresses_.OnSilence(attempt.address, attempt.begun);
    return true;
  });
}

int Engine::OnCloseSocket(void* engine, curl_socket_t fd) {
  auto& self = *static_cast<Engine*>(engine);
  self.JudgeAttempt(fd);
  self.poller_.Closing(fd);
  return close(fd);
}

int Engine::OnConnected(void* data, char* ip, char*, int port, int) {
  auto& transfer = *static_cast<Transfer*>(data);
  Engine& engine = *transfer.engine;
  absl::erase_if(engine.attempts_, [&](const auto& each) { return each.second.transfer == &transfer; });
  // One that was kept may be of any age.
  const absl::Duration since = transfer.opened ? engine.now_ : -absl::InfiniteDuration();
  const bool direct = transfer.proxy.empty();
  transfer.GoesTo(direct ? SocketAddress::Parse(ip, static_cast<uint16_t>(port)) : SocketAddress(), since,
                  engine.now_);
  if (transfer.work == Work::kRequest) transfer.Written(!transfer.opened);
  return CURL_PREREQFUNC_OK;
}

size_t Engine::OnHeader(char* data, size_t, size_t size, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  transfer.watch.Received(transfer.engine->now_);
  transfer.Answered();
  transfer.engine->addresses_.OnBytes(transfer.peer, transfer.peer_since);
  if (transfer.head_given) return size;  // A trailer.
  if (transfer.head.TakeLine({data, size})) {
    transfer.head_given = true;
    transfer.unwanted = !transfer.sink->OnHead(transfer.head);
  }
  return transfer.unwanted ? 0 : size;
}

size_t Engine::OnBody(char* data, size_t, size_t size, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  transfer.watch.Received(transfer.engine->now_);
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

absl::Status Engine::Outcome(const Transfer& transfer, CURLcode code) const {
  if (transfer.unwanted) return absl::AbortedError(kNotWanted);
  if (code == CURLE_OK && (transfer.head_given || transfer.work == Work::kConnection))
    return absl::OkStatus();
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

absl::StatusOr<std::unique_ptr<CurlEngine>> MakeCurlEngine(const TransportSettings& settings,
                                                           const Clock& clock, AddressBook& addresses,
                                                           Poller& poller) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialised != CURLE_OK) return absl::InternalError("libcurl cannot be initialised");
  return std::make_unique<Engine>(settings, clock, addresses, poller);
}

}  // namespace bucketvol
