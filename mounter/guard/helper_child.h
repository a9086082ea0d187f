#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

#include "mounter/guard/channel.h"
#include "mounter/guard/outcome.h"

namespace bucketvol {

/// A child process that makes system calls which may block for ever, and reports by one message.
///
/// A call on an image whose server stopped cannot even be killed. Made in a child, it holds up nobody: the
/// guard only polls the channel, and aborts the FUSE connection when the time is over. The child dies with
/// its parent.
class HelperChild {
 public:
  /// What the child does. It reports by one packet, and may go on afterwards. Runs after fork: must not wait
  /// for threads.
  using Work = std::function<void(const Channel& parent)>;

  /// Starts a child in which only the descriptors of `keep` (and the standard streams) are open. It must not
  /// keep a descriptor of /dev/fuse, or the connection could not be aborted while it is stuck.
  static Outcome<HelperChild> Start(std::vector<int> keep, const Work& work);

  HelperChild(HelperChild&&) = default;
  HelperChild& operator=(HelperChild&&) = default;
  /// Kills the child. It may stay behind, dying, while a system call holds it.
  ~HelperChild();

  /// Readable when the child reported or ended.
  int fd() const { return channel_.fd(); }
  /// kClosed: ended. Only before the report is this a failure.
  Channel::Received Receive(Message& out) const { return channel_.Receive(out); }
  Channel::Received ReceiveWaiting(Message& out, int timeout_ms) const {
    return channel_.ReceiveWaiting(out, timeout_ms);
  }
  /// Takes the exit of a child whose channel has closed; it has nothing more to wait for.
  void Reap();
  /// Kills the child and waits a moment for its end, so that what it holds is free. A child that a system
  /// call holds goes on dying alone.
  void End();

 private:
  HelperChild(pid_t pid, Channel channel) : pid_(pid), channel_(std::move(channel)) {}

  pid_t pid_;
  Channel channel_;  // Closed once moved from.
};

/// Closes every descriptor above the standard streams that is not in `keep`.
void CloseAllBut(std::vector<int> keep);

}  // namespace bucketvol
