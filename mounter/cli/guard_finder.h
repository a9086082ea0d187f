#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mounter/base/unique_fd.h"
#include "mounter/guard/channel.h"
#include "mounter/guard/claims.h"

namespace bucketvol {

/// A running guard, as its command line in /proc and its run directory tell.
struct GuardProcess {
  pid_t pid = 0;
  std::string mount_point;  // The first one of its claims.
  std::string run_directory;
  Claims claims;
  bool shares = false;  // Others may join it. No guard of an earlier version, and none that is just starting.
};

/// All guards that this user may talk to, whatever their run directories, by mount point.
std::vector<GuardProcess> FindGuards();

/// The guard of a (resolved) mount point. One that serves the last users of what was unmounted there only
/// where there is no other.
std::optional<GuardProcess> FindGuardOf(const std::string& mount_point);

/// Connects to a guard, also one that lives in another mount namespace. Fails when the process at the other
/// end is neither root's nor this user's.
absl::StatusOr<Channel> ConnectToGuard(const GuardProcess& guard);

/// A pidfd of a guard, invalid when it is gone. Opened before a guard is told to end, it cannot come to mean
/// another process.
UniqueFd OpenProcessOf(const GuardProcess& guard);
/// Waits until the process of a pidfd has ended, at most so long. At once when the pidfd is invalid.
void AwaitExit(const UniqueFd& process, int limit_ms);

/// Sends one packet to a guard and waits for its answer of one type. Unavailable: the guard is gone or mute.
absl::StatusOr<Message> AskGuard(const GuardProcess& guard, const std::string& packet, MessageType answer,
                                 int limit_ms);

/// What a result says: OK, or its text as an error.
absl::Status StatusOfResult(const Message& result);

}  // namespace bucketvol
