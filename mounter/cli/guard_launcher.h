#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mounter/cli/source_identity.h"
#include "mounter/guard/channel.h"
#include "mounter/guard/protocol.h"

namespace bucketvol {

enum class KeepAttached { kNo, kYes };

struct GuardSettings {
  std::string program_directory;  // Where bucketvol and bucketvol-guard lie.
  std::string worker_program() const { return program_directory + "/bucketvol"; }
  std::string mount_point;
  std::string run_directory;
  Transport transport = Transport::kLoop;
  KeepAttached attached = KeepAttached::kNo;  // kYes: logs to this process's standard error, ends with it.
  absl::Duration request_timeout;             // The worker's limit for a request.
  std::string spec;                           // For the worker; holds secrets.
  SourceIdentity identity;                    // Of what is mounted.
  std::vector<std::string> warnings;          // For the user, once it is mounted.
  int network = -1;  // Borrowed; the network namespace to live in. -1: this process's.
  // Directories of the cgroups that the guard and its workers live in; none: where this process does.
  std::vector<std::string> guard_cgroup;
  std::vector<std::string> worker_cgroup;
};

/// A guard that was started here, until it has mounted or failed.
///
/// Unless Commit was called, the destructor ends the guard and waits until everything it had made is gone.
class GuardLaunch {
 public:
  /// Starts the guard in a session of its own, with an empty environment and no descriptors of ours but one
  /// socket.
  static absl::StatusOr<GuardLaunch> Start(const GuardSettings& settings);

  GuardLaunch(GuardLaunch&&) = default;
  GuardLaunch& operator=(GuardLaunch&&) = delete;
  ~GuardLaunch();

  /// Progress, warnings and results come here.
  Channel& channel() { return channel_; }
  /// Lets the mount stay when this process ends.
  absl::Status Commit();
  /// Waits for the guard's end: at once after its last result. Tells how it ended when that was not by
  /// itself.
  std::string AwaitEnd();

 private:
  GuardLaunch(pid_t pid, Channel channel, GuardSettings settings);
  void RemoveRemains();

  pid_t pid_;
  Channel channel_;  // Closed once moved from.
  std::string mount_point_;
  std::string run_directory_;
  bool committed_ = false;
};

}  // namespace bucketvol
