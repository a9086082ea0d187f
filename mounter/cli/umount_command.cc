#include "mounter/cli/umount_command.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/exit_code.h"
#include "mounter/cli/guard_finder.h"
#include "mounter/cli/mount_point.h"
#include "mounter/cli/worker_limits.h"
#include "mounter/guard/helper_child.h"

namespace bucketvol {
namespace {

// The guard gives up a umount that hangs after 10 s, the end of its connection after 5 s, and reports.
constexpr int kAnswerLimitMs = 20'000;
constexpr int kExitLimitMs = 10'000;

absl::Status AnswerOf(const Message& message, Console& console) {
  const std::string text = message.Strings(1)[0];
  if (message.BodyAs<ResultBody>().code != ResultCode::kOk) return absl::FailedPreconditionError(text);
  if (!text.empty()) console.Warn(text);
  return absl::OkStatus();
}

void Kill(const UniqueFd& process) {
  if (process.valid()) syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  AwaitExit(process, kExitLimitMs);
}

// nullopt: the guard died on the way, or had to.
std::optional<absl::Status> UmountByGuard(const GuardProcess& guard, const std::string& mount_point,
                                          const UnmountBody& how, Console& console) {
  const UniqueFd process = OpenProcessOf(guard);
  auto channel = ConnectToGuard(guard);
  if (!channel.ok()) return std::nullopt;
  if (!channel->Send(EncodeMessage(MessageType::kUnmount, how, {mount_point})).ok()) return std::nullopt;
  Message answer;
  switch (channel->ReceiveWaiting(answer, kAnswerLimitMs)) {
    case Channel::Received::kClosed:
      return std::nullopt;
    case Channel::Received::kNothing:
      if (how.force == 0) {
        return absl::DeadlineExceededError(
            absl::StrCat("guard of ", guard.mount_point, " does not answer; umount --force ends it"));
      }
      Kill(process);
      return std::nullopt;
    case Channel::Received::kMessage:
      break;
  }
  absl::Status status = AnswerOf(answer, console);
  // A text beside success says that the guard goes on for somebody else.
  if (status.ok() && answer.BodyAs<ResultBody>().mount_points == 0 && answer.Strings(1)[0].empty()) {
    AwaitExit(process, kExitLimitMs);
    CollectCgroups();
  }
  return status;
}

// A mount whose guard is dead: nobody serves it, so that umount cannot wait for much.
absl::Status UmountAlone(const std::string& mount_point, int flags) {
  auto helper = HelperChild::Start({}, [&](const Channel& parent) {
    ResultBody body;
    if (umount2(mount_point.c_str(), flags | UMOUNT_NOFOLLOW) != 0) body.code = ResultCode::kFailed;
    const std::string text = body.code == ResultCode::kOk ? "" : strerror(errno);
    (void)parent.Send(EncodeMessage(MessageType::kResult, body, {text})).ok();
  });
  if (!helper.ok()) return absl::InternalError(helper.failure().text);
  Message report;
  if (helper.value().ReceiveWaiting(report, kAnswerLimitMs) != Channel::Received::kMessage) {
    return absl::DeadlineExceededError(absl::StrCat("umount hangs: ", mount_point, "; try: umount --lazy"));
  }
  if (report.BodyAs<ResultBody>().code == ResultCode::kOk) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("umount ", mount_point, ": ", report.Strings(1)[0]));
}

}  // namespace

absl::Status RunUmount(const Arguments& arguments, Console& console) {
  if (arguments.positional.size() != 1)
    return UsageError("usage: bucketvol umount MOUNTPOINT [--lazy|--force]");
  const std::string mount_point = ResolveMountPoint(arguments.positional[0]);
  UnmountBody how;
  how.lazy = arguments.Has("--lazy") ? 1 : 0;
  how.force = arguments.Has("--force") ? 1 : 0;
  if (const auto guard = FindGuardOf(mount_point)) {
    if (const auto status = UmountByGuard(*guard, mount_point, how, console)) return *status;
  }
  for (const ImageMount& mount : FindImageMounts()) {
    if (mount.mount_point != mount_point) continue;
    return UmountAlone(mount_point, how.lazy != 0 || how.force != 0 ? MNT_DETACH : 0);
  }
  // The guard may have finished between the two looks.
  return absl::NotFoundError(absl::StrCat("not mounted by bucketvol: ", mount_point));
}

}  // namespace bucketvol
