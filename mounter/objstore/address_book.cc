#include "mounter/objstore/address_book.h"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace bucketvol {
namespace {

// Services change their addresses within minutes.
constexpr absl::Duration kRefresh = absl::Seconds(60);

}  // namespace

SocketAddress SocketAddress::Of(const sockaddr* address, socklen_t size) {
  SocketAddress made;
  made.size = std::min<socklen_t>(size, sizeof(made.storage));
  std::memcpy(&made.storage, address, made.size);
  return made;
}

bool SocketAddress::SameHost(const SocketAddress& other) const {
  SocketAddress a = *this, b = other;
  a.SetPort(0);
  b.SetPort(0);
  return a.size == b.size && std::memcmp(&a.storage, &b.storage, a.size) == 0;
}

void SocketAddress::SetPort(uint16_t port) {
  if (family() == AF_INET) reinterpret_cast<sockaddr_in&>(storage).sin_port = htons(port);
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6&>(storage).sin6_port = htons(port);
}

uint16_t SocketAddress::port() const {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
  return 0;
}

struct AddressBook::State {
  explicit State(Resolve r) : resolve(std::move(r)) {}

  struct Host {
    std::vector<SocketAddress> addresses;
    size_t next = 0;
    absl::Duration asked = -absl::InfiniteDuration();
  };

  // Whether the caller shall ask the resolver.
  bool ShallAsk(const std::string& host, absl::Duration now) {
    absl::MutexLock lock(&mu);
    Host& entry = hosts[host];
    if (now - entry.asked < kRefresh || std::exchange(resolving, true)) return false;
    entry.asked = now;
    return true;
  }

  void Ask(const std::string& host) {
    std::vector<SocketAddress> addresses = resolve(host);
    absl::MutexLock lock(&mu);
    resolving = false;
    if (!addresses.empty()) hosts[host].addresses = std::move(addresses);
  }

  const Resolve resolve;
  absl::Mutex mu;  // Leaf: the resolver runs without it.
  bool resolving ABSL_GUARDED_BY(mu) = false;
  absl::flat_hash_map<std::string, Host> hosts ABSL_GUARDED_BY(mu);
};

AddressBook::AddressBook(const Clock& clock, Resolve resolve, RunAside run)
    : clock_(clock), run_(std::move(run)), state_(std::make_shared<State>(std::move(resolve))) {}

void AddressBook::RunOnThread(std::function<void()> task) { std::thread(std::move(task)).detach(); }

std::vector<SocketAddress> AddressBook::ResolveBySystem(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next)
    addresses.push_back(SocketAddress::Of(each->ai_addr, each->ai_addrlen));
  freeaddrinfo(found);
  return addresses;
}

SocketAddress AddressBook::InTurn(const std::string& host, const SocketAddress& offered) {
  if (state_->ShallAsk(host, clock_.Elapsed())) run_([state = state_, host] { state->Ask(host); });
  absl::MutexLock lock(&state_->mu);
  State::Host& entry = state_->hosts[host];
  const bool known = std::any_of(entry.addresses.begin(), entry.addresses.end(),
                                 [&](const SocketAddress& each) { return each.SameHost(offered); });
  if (!known) return offered;
  SocketAddress picked;
  do {
    picked = entry.addresses[entry.next++ % entry.addresses.size()];
  } while (picked.family() != offered.family());
  picked.SetPort(offered.port());
  return picked;
}

}  // namespace bucketvol
