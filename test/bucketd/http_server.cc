#include "test/bucketd/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "absl/strings/str_cat.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/status_macros.h"
#include "test/bucketd/event_loop.h"

namespace bucketvol::bucketd {
namespace {

struct AddressListFree {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

absl::StatusOr<UniqueFd> Listen(const std::string& host, uint16_t port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string service = absl::StrCat(port);
  if (const int error = getaddrinfo(host.c_str(), service.c_str(), &hints, &found); error != 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot listen: ", gai_strerror(error), ": ", host));
  }
  const std::unique_ptr<addrinfo, AddressListFree> list(found);
  UniqueFd listener(socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener.get(), list->ai_addr, list->ai_addrlen) != 0 || listen(listener.get(), SOMAXCONN) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("cannot listen on ", host, ":", port));
  }
  return listener;
}

uint16_t BoundPort(int listener) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const bool v6 = address.ss_family == AF_INET6;
  return ntohs(v6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                  : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerSettings& settings,
                                                              Application& application, const Clock& clock) {
  ASSIGN_OR_RETURN(UniqueFd listener, Listen(settings.host, settings.port));
  const uint16_t port = BoundPort(listener.get());
  std::unique_ptr<HttpServer> server(new HttpServer(port, std::move(listener)));
  server->context_ = std::make_unique<ServerContext>(application, clock, settings.tls);
  std::vector<EventLoop*> peers;
  for (int i = 0; i < settings.threads; ++i) {
    server->loops_.push_back(std::make_unique<EventLoop>(*server->context_, i));
    peers.push_back(server->loops_.back().get());
  }
  for (size_t i = 1; i < peers.size(); ++i) peers[i]->Start(-1, {});
  peers[0]->Start(server->listener_.get(), peers);
  return server;
}

HttpServer::HttpServer(uint16_t port, UniqueFd listener) : port_(port), listener_(std::move(listener)) {}

// The loop that accepts goes first: nobody may be handed a connection after its end.
HttpServer::~HttpServer() {
  for (std::unique_ptr<EventLoop>& loop : loops_) loop.reset();
}

}  // namespace bucketvol::bucketd
