#include "mounter/objstore/address_book.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/synchronization/mutex.h"
#include "mounter/objstore/address_health.h"

namespace bucketvol {
namespace {

// Services change their addresses within minutes.
constexpr absl::Duration kRefresh = absl::Seconds(60);
constexpr absl::Duration kRefreshInTrouble = absl::Seconds(5);

}  // namespace

SocketAddress SocketAddress::Of(const sockaddr* address, socklen_t size) {
  SocketAddress made;
  made.size = std::min<socklen_t>(size, sizeof(made.storage));
  std::memcpy(&made.storage, address, made.size);
  return made;
}

SocketAddress SocketAddress::Parse(const char* text, uint16_t port) {
  sockaddr_in v4 = {};
  sockaddr_in6 v6 = {};
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  SocketAddress parsed;
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    parsed = Of(reinterpret_cast<const sockaddr*>(&v4), sizeof(v4));
  } else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
    parsed = Of(reinterpret_cast<const sockaddr*>(&v6), sizeof(v6));
  }
  if (parsed.known()) parsed.SetPort(port);
  return parsed;
}

SocketAddress SocketAddress::OfPeer(int socket) {
  SocketAddress peer;
  socklen_t size = sizeof(peer.storage);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer.storage), &size) == 0) peer.size = size;
  return peer;
}

bool SocketAddress::SameHost(const SocketAddress& other) const {
  SocketAddress a = *this, b = other;
  a.SetPort(0);
  b.SetPort(0);
  return a.size == b.size && std::memcmp(&a.storage, &b.storage, a.size) == 0;
}

uint64_t SocketAddress::Key() const {
  absl::string_view host(reinterpret_cast<const char*>(&storage), size);
  if (family() == AF_INET) {
    host = {reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in&>(storage).sin_addr), 4};
  } else if (family() == AF_INET6) {
    host = {reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr), 16};
  }
  return absl::HashOf(host, port()) | 1;
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
    const absl::Duration pause = health.unclouded() ? kRefresh : kRefreshInTrouble;
    if (now - entry.asked < pause || std::exchange(resolving, true)) return false;
    entry.asked = now;
    return true;
  }

  void Ask(const std::string& host) {
    std::vector<SocketAddress> addresses = resolve(host);
    absl::MutexLock lock(&mu);
    resolving = false;
    if (!addresses.empty()) hosts[host].addresses = std::move(addresses);
  }

  // The addresses that may stand in for `offered`, the next in turn first; none if it is not one of the
  // host's.
  std::vector<SocketAddress> Candidates(Host& host, const SocketAddress& offered)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    std::vector<SocketAddress> candidates;
    bool known = false;
    for (SocketAddress each : host.addresses) {
      known = known || each.SameHost(offered);
      each.SetPort(offered.port());
      if (each.family() == offered.family()) candidates.push_back(each);
    }
    if (!known) return {};
    std::rotate(candidates.begin(),
                candidates.begin() + static_cast<ptrdiff_t>(host.next % candidates.size()), candidates.end());
    return candidates;
  }

  // The first that works, then the first that is another than `last`, then the first.
  static const SocketAddress& BestOf(const std::vector<SocketAddress>& candidates, const AddressHealth& known,
                                     uint64_t last) {
    const SocketAddress* best = nullptr;
    int best_rank = 0;
    for (const SocketAddress& each : candidates) {
      const uint64_t key = each.Key();
      const int rank = (known.InTrouble(key) ? 0 : 2) + (key == last ? 0 : 1);
      if (best == nullptr || rank > best_rank) best = &each;
      best_rank = std::max(best_rank, rank);
    }
    return *best;
  }

  const Resolve resolve;
  std::atomic<bool> clouded{false};  // Whether anything is held against any address.
  absl::Mutex mu;                    // Leaf: the resolver runs without it.
  bool resolving ABSL_GUARDED_BY(mu) = false;
  absl::flat_hash_map<std::string, Host> hosts ABSL_GUARDED_BY(mu);
  AddressHealth health ABSL_GUARDED_BY(mu);
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

SocketAddress AddressBook::InTurn(const std::string& host, const SocketAddress& offered, uint64_t last) {
  const absl::Duration now = clock_.Elapsed();
  if (state_->ShallAsk(host, now)) run_([state = state_, host] { state->Ask(host); });
  absl::MutexLock lock(&state_->mu);
  State::Host& entry = state_->hosts[host];
  const std::vector<SocketAddress> candidates = state_->Candidates(entry, offered);
  if (candidates.empty()) return offered;
  // Whoever has failed once already shall not be the one to probe.
  for (const SocketAddress& each : candidates) {
    if (last != 0 || !state_->health.ProbeIsDue(each.Key(), now)) continue;
    state_->health.OnProbe(each.Key(), now);
    return each;
  }
  const SocketAddress& best = State::BestOf(candidates, state_->health, last);
  entry.next += static_cast<size_t>(&best - candidates.data()) + 1;
  return best;
}

bool AddressBook::IsGood(absl::string_view host, const SocketAddress& peer, uint64_t last) {
  const uint64_t key = peer.Key();
  if (key != last && !state_->clouded) return true;
  absl::MutexLock lock(&state_->mu);
  if (key != last && !state_->health.InTrouble(key)) return true;
  const auto found = state_->hosts.find(host);
  if (found == state_->hosts.end()) return true;
  std::vector<SocketAddress> candidates = state_->Candidates(found->second, peer);
  if (candidates.empty()) return true;
  // In front of its equals.
  const auto self = std::find_if(candidates.begin(), candidates.end(),
                                 [&](const SocketAddress& each) { return each.SameHost(peer); });
  std::rotate(candidates.begin(), self, candidates.end());
  return State::BestOf(candidates, state_->health, last).SameHost(peer);
}

bool AddressBook::HasSeveral(absl::string_view host) const {
  absl::MutexLock lock(&state_->mu);
  const auto found = state_->hosts.find(host);
  return found != state_->hosts.end() && found->second.addresses.size() > 1;
}

void AddressBook::OnBytes(const SocketAddress& peer, absl::Duration connected) {
  if (!peer.known() || !state_->clouded) return;
  absl::MutexLock lock(&state_->mu);
  state_->health.OnBytes(peer.Key(), connected);
  state_->clouded = !state_->health.unclouded();
}

void AddressBook::OnFailure(const SocketAddress& peer) {
  if (!peer.known()) return;
  absl::MutexLock lock(&state_->mu);
  state_->health.OnFailure(peer.Key(), clock_.Elapsed());
  state_->clouded = true;
}

void AddressBook::OnSilence(const SocketAddress& peer, absl::Duration since) {
  if (!peer.known()) return;
  absl::MutexLock lock(&state_->mu);
  state_->health.OnSilence(peer.Key(), since, clock_.Elapsed());
  state_->clouded = true;
}

}  // namespace bucketvol
