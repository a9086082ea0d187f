#include "mounter/cli/mount_join.h"

#include <sys/mount.h>
#include <unistd.h>

#include <climits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/exit_code.h"
#include "mounter/cli/guard_dialogue.h"
#include "mounter/cli/guard_locks.h"
#include "mounter/cli/guard_orders.h"
#include "mounter/cli/interrupts.h"
#include "mounter/cli/mount_point.h"
#include "mounter/cli/mount_status.h"
#include "mounter/guard/lock_file.h"
#include "mounter/options/volume_spec.h"

namespace bucketvol {
namespace {

// Each round sets right one thing that was found to be different; others may change it back meanwhile.
constexpr int kRounds = 5;
// A guard gives up a call of the kernel after 30 s, and while its worker lists it tells every 0.2 s.
constexpr int kSilenceLimitMs = 45'000;
constexpr int kReleaseLooks = 1'000;
constexpr absl::Duration kReleasePause = absl::Milliseconds(5);

std::string MountNamespaceOf(absl::string_view process) {
  char name[PATH_MAX];
  const ssize_t size = readlink(absl::StrCat("/proc/", process, "/ns/mnt").c_str(), name, sizeof name);
  return size < 0 ? "" : std::string(name, static_cast<size_t>(size));
}

bool IsInThisNamespace(const GuardProcess& guard) {
  return MountNamespaceOf(absl::StrCat(guard.pid)) == MountNamespaceOf("self");
}

absl::Status CheckCanJoin(const GuardProcess& guard, const GuardSettings& settings) {
  if (settings.attached == KeepAttached::kYes) {
    return absl::FailedPreconditionError(absl::StrCat(
        "source is mounted already, and --foreground joins no other mount: ", guard.mount_point));
  }
  if (!IsInThisNamespace(guard)) {
    return absl::FailedPreconditionError(
        absl::StrCat("source is mounted at ", guard.mount_point,
                     " in another mount namespace; mount it there: nsenter --mount --target ", guard.pid));
  }
  return absl::OkStatus();
}

// What a guard that died on the way has left.
void RemoveRemains(const std::string& mount_point) {
  const auto guard = FindGuardOf(mount_point);
  if (!guard && IsImageMountedAt(mount_point)) umount2(mount_point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
}

// The guard takes down what nobody awaits any more.
void AwaitRelease(const std::string& mount_point) {
  const std::string lock = LockOfMountPoint(mount_point);
  for (int look = 0; look < kReleaseLooks && access(lock.c_str(), F_OK) == 0; ++look)
    absl::SleepFor(kReleasePause);
}

// A mount that was there before shows an older listing than a new one would.
void WarnOfAge(const GuardReport& before, Console& console) {
  if (before.body.state == MountState::kBuilding) return;
  const StatusDocument status = MountStatus(before);
  console.Warn(absl::StrCat("source was mounted already, and shows what was listed at ",
                            status.index.built_at, ": ", status.mountpoint));
}

class Joining {
 public:
  Joining(const GuardProcess& guard, const GuardSettings& settings, const VolumeSpec& spec,
          const UniqueFd& interrupts, Console& console)
      : guard_(guard),
        settings_(settings),
        spec_(spec),
        interrupts_(interrupts),
        console_(console),
        terms_(settings.identity.terms) {}

  absl::Status Run() {
    for (int round = 0; round < kRounds; ++round) {
      ASSIGN_OR_RETURN(const Channel channel, ConnectToGuard(guard_));
      ASSIGN_OR_RETURN(const Message answer, Ask(channel));
      const ResultCode code = answer.BodyAs<ResultBody>().code;
      if (code == ResultCode::kOk) return Commit(channel);
      RETURN_IF_ERROR(SetRight(code, answer));
    }
    return absl::AbortedError(absl::StrCat("options of the mount keep changing: ", guard_.mount_point));
  }

 private:
  absl::StatusOr<Message> Ask(const Channel& channel) {
    const std::string lock = LockOfMountPoint(settings_.mount_point);
    const std::string packet =
        EncodePacket(MessageType::kJoin, "",
                     JoinStrings({settings_.mount_point, lock, terms_, settings_.identity.credentials}));
    if (!channel.Send(packet).ok()) return absl::UnavailableError("guard has just ended");
    auto answer = AwaitResult(channel, interrupts_, kSilenceLimitMs, console_);
    if (absl::IsDeadlineExceeded(answer.status())) return Annotate(answer.status(), guard_.mount_point);
    return answer;
  }

  // A signal that came together with the result wins: who interrupts wants no mount.
  absl::Status Commit(const Channel& channel) {
    if (WasInterrupted(interrupts_)) return InterruptedError("interrupted");
    if (channel.Send(EncodePacket(MessageType::kCommit, "", "")).ok()) return absl::OkStatus();
    return absl::UnavailableError("guard ended as soon as it had mounted: was it unmounted at once?");
  }

  absl::Status SetRight(ResultCode code, const Message& answer) {
    switch (code) {
      case ResultCode::kOtherTerms:
        terms_ = answer.Strings(2)[1];
        return CompareTerms(settings_.identity.terms, terms_, guard_.mount_point);
      case ResultCode::kOtherCredentials:
        return SendCredentials(guard_, spec_);
      case ResultCode::kDegraded:
        return SendRevival(guard_, settings_, spec_.options.state_dir);
      case ResultCode::kOk:
      case ResultCode::kFailed:
      case ResultCode::kUsage:
      case ResultCode::kBusy:
      case ResultCode::kOwned:
        break;
    }
    return StatusOfResult(answer);
  }

  const GuardProcess& guard_;
  const GuardSettings& settings_;
  const VolumeSpec& spec_;
  const UniqueFd& interrupts_;
  Console& console_;
  std::string terms_;  // As the guard says them, once it has.
};

}  // namespace

std::optional<GuardProcess> FindOwner(const std::string& source) {
  std::optional<GuardProcess> elsewhere;
  for (GuardProcess& guard : FindGuards()) {
    if (!guard.shares || !guard.claims.HasSource(source)) continue;
    if (IsInThisNamespace(guard)) return std::move(guard);
    elsewhere = std::move(guard);
  }
  return elsewhere && LockFile::IsHeld(LockOfSource(source)) ? elsewhere : std::nullopt;
}

absl::Status JoinMount(const GuardProcess& guard, const GuardSettings& settings, const UniqueFd& interrupts,
                       Console& console) {
  RETURN_IF_ERROR(CheckCanJoin(guard, settings));
  ASSIGN_OR_RETURN(const GuardReport before, AskForReport(guard));
  ASSIGN_OR_RETURN(const VolumeSpec spec, ParseVolumeSpec(settings.spec));
  absl::Status status = Joining(guard, settings, spec, interrupts, console).Run();
  if (absl::IsUnavailable(status)) RemoveRemains(settings.mount_point);
  if (ExitCodeOf(status) == kExitInterrupted) AwaitRelease(settings.mount_point);
  if (status.ok()) WarnOfAge(before, console);
  return status;
}

}  // namespace bucketvol
