#pragma once

#include <sys/types.h>

#include <string>

#include "mounter/base/unique_fd.h"
#include "mounter/cgroup/held_cgroup.h"
#include "mounter/guard/channel.h"
#include "mounter/guard/outcome.h"

namespace bucketvol {

/// The worker as the guard sees it: a process and the socket to it (descriptor 3 of the worker).
class WorkerProcess {
 public:
  /// Runs `PROGRAM worker` with an empty environment and no descriptors but the standard streams and the
  /// socket, in a cgroup. The worker dies with this process. The kernel's memory killer takes it before the
  /// guard.
  static Outcome<WorkerProcess> Start(const std::string& program, const HeldCgroup& cgroup);

  WorkerProcess(WorkerProcess&&) = default;
  WorkerProcess& operator=(WorkerProcess&&) = default;
  /// Kills the process if it still runs. Does not wait for it.
  ~WorkerProcess();

  pid_t pid() const { return pid_; }
  Channel& channel() { return channel_; }
  /// Readable once the process has ended.
  int pidfd() const { return pidfd_.get(); }

  /// Asks it to clean up and end: the end of the socket is the sign.
  void Dismiss() { channel_.Close(); }
  void Kill() const;
  /// Kills it for a reason, which Reap tells instead of the signal.
  void KillFor(std::string why);
  /// Kills it and waits a moment for its end, so that what it holds is free.
  void KillAndAwait();
  /// Takes the exit of an ended process: "exit code 1", "signal 9 (Killed)", or why it was killed.
  std::string Reap();

 private:
  WorkerProcess(pid_t pid, UniqueFd pidfd, Channel channel)
      : pid_(pid), pidfd_(std::move(pidfd)), channel_(std::move(channel)) {}

  pid_t pid_;
  UniqueFd pidfd_;  // Invalid once reaped or moved from.
  Channel channel_;
  std::string kill_reason_;
};

/// Keeps this process from the kernel's memory killer as far as it may.
void ProtectFromMemoryKiller();

}  // namespace bucketvol
