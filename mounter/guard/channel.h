#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "mounter/base/unique_fd.h"
#include "mounter/guard/outcome.h"
#include "mounter/guard/protocol.h"

namespace bucketvol {

/// One end of a SOCK_SEQPACKET connection that carries the guard's protocol. Not thread-safe, but one thread
/// may send while another receives.
class Channel {
 public:
  enum class Received { kMessage, kNothing, kClosed };

  Channel() = default;
  explicit Channel(UniqueFd fd) : fd_(std::move(fd)) {}

  /// Two connected ends, both closed on exec.
  static Outcome<std::pair<Channel, Channel>> MakePair();
  /// Connects to a listening socket. `path` may be longer than a socket address holds.
  static Outcome<Channel> Connect(const std::string& path);

  int fd() const { return fd_.get(); }
  bool open() const { return fd_.valid(); }
  void Close() { fd_.Reset(); }

  /// Sends without waiting. A full queue is a Failure with EAGAIN; a gone peer one with EPIPE.
  Step Send(const std::string& packet, const std::vector<int>& descriptors = {}) const;
  /// Sends, waiting while the queue is full.
  Step SendWaiting(const std::string& packet, const std::vector<int>& descriptors = {}) const;
  /// Takes the next packet without waiting. Packets that are none of ours are dropped.
  Received Receive(Message& out) const;
  /// Waits for the next packet up to `timeout_ms` (-1: for ever). kNothing: the time is over.
  Received ReceiveWaiting(Message& out, int timeout_ms) const;

  /// Whose process is at the other end: the one that connected or made the pair. Invalid ids when unknown.
  struct Peer {
    pid_t pid = -1;
    uid_t uid = static_cast<uid_t>(-1);
  };
  Peer PeerProcess() const;

 private:
  Step SendFlags(const std::string& packet, const std::vector<int>& descriptors, int flags) const;

  UniqueFd fd_;
};

/// Listens at `path`, mode 0600, replacing a dead socket there.
Outcome<UniqueFd> ListenAt(const std::string& path);

}  // namespace bucketvol
