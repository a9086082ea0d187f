#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "mounter/base/clock.h"

namespace bucketvol {

/// A socket's address, of any family.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  static SocketAddress Of(const sockaddr* address, socklen_t size);
  int family() const { return storage.ss_family; }
  /// Whether both name the same host, whatever their ports.
  bool SameHost(const SocketAddress& other) const;
  void SetPort(uint16_t port);
  uint16_t port() const;
};

/// Spreads connections over all addresses of a host: a resolver's caller, left alone, connects to the first.
///
/// Thread-safe. Never waits for the resolver: it runs aside, one at a time.
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
  /// with the same port. `offered` itself when it is not among those known. Asks the resolver now and then.
  SocketAddress InTurn(const std::string& host, const SocketAddress& offered);

 private:
  struct State;
  const Clock& clock_;
  const RunAside run_;
  const std::shared_ptr<State> state_;  // Shared with tasks.
};

}  // namespace bucketvol
