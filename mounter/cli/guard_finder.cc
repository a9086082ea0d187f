#include "mounter/cli/guard_finder.h"

#include <dirent.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/exit_code.h"
#include "mounter/guard/run_directory.h"
#include "mounter/guard/small_file.h"

namespace bucketvol {
namespace {

constexpr char kGuardName[] = "bucketvol-guard\n";

std::string RootOf(const GuardProcess& guard) { return absl::StrCat("/proc/", guard.pid, "/root"); }

bool IsTrusted(uid_t uid) { return uid == 0 || uid == geteuid(); }

std::optional<GuardProcess> ReadGuard(const std::string& pid) {
  const std::string directory = absl::StrCat("/proc/", pid);
  if (ReadSmallFile(directory + "/comm") != kGuardName) return std::nullopt;
  struct stat info;
  if (stat(directory.c_str(), &info) != 0 || !IsTrusted(info.st_uid)) return std::nullopt;
  const std::vector<std::string> arguments = absl::StrSplit(ReadSmallFile(directory + "/cmdline"), '\0');
  if (arguments.size() < 3) return std::nullopt;
  GuardProcess guard;
  if (!absl::SimpleAtoi(pid, &guard.pid)) return std::nullopt;
  guard.mount_point = arguments[1];
  guard.run_directory = arguments[2];
  guard.claims.mount_points = {guard.mount_point};
  if (auto claims = ReadClaims(RootOf(guard) + guard.run_directory)) {
    guard.claims = *std::move(claims);
    guard.shares = !guard.claims.fading;
    if (!guard.claims.mount_points.empty()) guard.mount_point = guard.claims.mount_points.front();
  } else if (access((RootOf(guard) + RunDirectory::SocketIn(guard.run_directory)).c_str(), F_OK) != 0) {
    return std::nullopt;  // Not yet there, or no longer.
  }
  return guard;
}

}  // namespace

std::vector<GuardProcess> FindGuards() {
  std::vector<GuardProcess> guards;
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return guards;
  while (const dirent* entry = readdir(processes)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (auto guard = ReadGuard(entry->d_name)) guards.push_back(std::move(*guard));
  }
  closedir(processes);
  const auto by_mount_point = [](const GuardProcess& a, const GuardProcess& b) {
    return a.mount_point < b.mount_point;
  };
  std::sort(guards.begin(), guards.end(), by_mount_point);
  return guards;
}

std::optional<GuardProcess> FindGuardOf(const std::string& mount_point) {
  std::optional<GuardProcess> fading;
  for (GuardProcess& guard : FindGuards()) {
    if (!guard.claims.HasMountPoint(mount_point)) continue;
    if (!guard.claims.fading) return std::move(guard);
    fading = std::move(guard);
  }
  return fading;
}

absl::StatusOr<Channel> ConnectToGuard(const GuardProcess& guard) {
  auto channel = Channel::Connect(RootOf(guard) + RunDirectory::SocketIn(guard.run_directory));
  if (!channel.ok()) {
    return absl::UnavailableError(
        absl::StrCat("guard of ", guard.mount_point, " does not answer: ", channel.failure().text));
  }
  if (!IsTrusted(channel.value().PeerProcess().uid)) {
    return absl::PermissionDeniedError(
        absl::StrCat("guard of ", guard.mount_point, " belongs to another user"));
  }
  return std::move(channel.value());
}

UniqueFd OpenProcessOf(const GuardProcess& guard) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, guard.pid, 0)));
}

void AwaitExit(const UniqueFd& process, int limit_ms) {
  pollfd ended{process.get(), POLLIN, 0};
  if (process.valid()) poll(&ended, 1, limit_ms);
}

absl::StatusOr<Message> AskGuard(const GuardProcess& guard, const std::string& packet, MessageType answer,
                                 int limit_ms) {
  ASSIGN_OR_RETURN(const Channel channel, ConnectToGuard(guard));
  Message reply;
  if (!channel.Send(packet).ok() || channel.ReceiveWaiting(reply, limit_ms) != Channel::Received::kMessage ||
      !reply.Is(answer)) {
    return absl::UnavailableError(absl::StrCat("guard of ", guard.mount_point, " does not answer"));
  }
  return reply;
}

absl::Status StatusOfResult(const Message& message) {
  const std::string text = message.Strings(1)[0];
  switch (message.BodyAs<ResultBody>().code) {
    case ResultCode::kOk:
      return absl::OkStatus();
    case ResultCode::kBusy:
      return absl::AlreadyExistsError(text);
    case ResultCode::kUsage:
      return UsageError(text);
    case ResultCode::kOwned:
      return absl::AbortedError(text);
    case ResultCode::kFailed:
    case ResultCode::kOtherTerms:
    case ResultCode::kOtherCredentials:
    case ResultCode::kDegraded:
      return absl::InternalError(text);
  }
  return absl::InternalError(text);
}

}  // namespace bucketvol
