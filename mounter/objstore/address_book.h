#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"

namespace bucketvol {

/// A socket's address, of any family.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  static SocketAddress Of(const sockaddr* address, socklen_t size);
  /// Of an IPv4 or IPv6 address as text; none, of size 0, if it is no such.
  static SocketAddress Parse(const char* text, uint16_t port);
  /// That of the other end of a connection; none, of size 0, if it has none.
  static SocketAddress OfPeer(int socket);
  bool known() const { return size > 0; }
  int family() const { return storage.ss_family; }
  /// Whether both name the same host, whatever their ports.
  bool SameHost(const SocketAddress& other) const;
  /// Tells host and port from others, in practice; never 0.
  uint64_t Key() const;
  void SetPort(uint16_t port);
  uint16_t port() const;
};

/// Spreads connections over all addresses of a host that work (AddressHealth), and over all when none does: a
/// resolver's caller, left alone, connects to the first.
///
/// Thread-safe. Never waits for the resolver: it runs aside, one at a time; now and then, and soon when an
/// address fails.
class AddressBook {
 public:
  /// All addresses of a host, which may take long; none: it cannot be told.
  using Resolve = std::function<std::vector<SocketAddress>(const std::string& host)>;
  static std::vector<SocketAddress> ResolveBySystem(const std::string& host);

  /// Runs a task that may block for long, and returns at once.
  using RunAside = std::function<void(std::function<void()> task)>;
  /// On a thread of its own, which nobody waits for.
  static void RunOnThread(std::function<void()> task);

  /// `clock` outlives the book. Tasks may run after it is gone.
  explicit AddressBook(const Clock& clock, Resolve resolve = ResolveBySystem, RunAside run = RunOnThread);

  /// The address to connect to in place of `offered`, one of `host`'s: the next in turn of the same family,
  /// with the same port, and another than `last` if there is one. `offered` itself when it is not among those
  /// known.
  SocketAddress InTurn(const std::string& host, const SocketAddress& offered, uint64_t last = 0);
  /// Whether a connection to `peer`, one of `host`'s, is as good as any: false if that address is in trouble,
  /// or is `last`, and there is a better one.
  bool IsGood(absl::string_view host, const SocketAddress& peer, uint64_t last = 0);
  /// Whether the host is known to have several addresses.
  bool HasSeveral(absl::string_view host) const;

  // What became of connections to an address; see AddressHealth. Nothing happens when it is not known.
  void OnBytes(const SocketAddress& peer, absl::Duration connected);
  void OnFailure(const SocketAddress& peer);
  void OnSilence(const SocketAddress& peer, absl::Duration since);

 private:
  struct State;
  const Clock& clock_;
  const RunAside run_;
  const std::shared_ptr<State> state_;  // Shared with tasks.
};

}  // namespace bucketvol
