#include "mounter/cli/mount_command.h"

#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "mounter/base/clock.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/exit_code.h"
#include "mounter/cli/guard_dialogue.h"
#include "mounter/cli/guard_finder.h"
#include "mounter/cli/guard_launcher.h"
#include "mounter/cli/guard_locks.h"
#include "mounter/cli/guard_orders.h"
#include "mounter/cli/guard_surroundings.h"
#include "mounter/cli/index_store.h"
#include "mounter/cli/interrupts.h"
#include "mounter/cli/mount_join.h"
#include "mounter/cli/mount_point.h"
#include "mounter/cli/mount_status.h"
#include "mounter/cli/volume_request.h"
#include "mounter/cli/worker_limits.h"

namespace bucketvol {
namespace {

constexpr int kUnmountedLooks = 1'000;
constexpr absl::Duration kUnmountedPause = absl::Milliseconds(5);
// Whoever has the source shows itself in less than a second, or never.
constexpr absl::Duration kOwnerLimit = absl::Seconds(10);
constexpr absl::Duration kOwnerPause = absl::Milliseconds(20);
constexpr int kSweepAttempts = 50;
constexpr absl::Duration kSweepPause = absl::Milliseconds(20);

absl::Status GuardIsGone(GuardLaunch& launch) {
  const std::string how = launch.AwaitEnd();
  return absl::InternalError(how.empty() ? "guard ended unexpectedly" : how);
}

absl::Status AwaitWord(GuardLaunch& launch, const UniqueFd& interrupts, Console& console) {
  const auto result = AwaitResult(launch.channel(), interrupts, /*limit_ms=*/-1, console);
  if (absl::IsUnavailable(result.status())) return GuardIsGone(launch);
  RETURN_IF_ERROR(result.status());
  return StatusOfResult(*result);
}

// From the start of the guard to its commitment; with --foreground to the end of the mount.
absl::Status LaunchAndAwait(const GuardSettings& settings, const UniqueFd& interrupts, Console& console) {
  ASSIGN_OR_RETURN(GuardLaunch launch, GuardLaunch::Start(settings));
  RETURN_IF_ERROR(AwaitWord(launch, interrupts, console));
  // A signal that came together with the result wins: who interrupts wants no mount.
  if (WasInterrupted(interrupts)) return InterruptedError("interrupted");
  RETURN_IF_ERROR(launch.Commit());
  for (const std::string& warning : settings.warnings) console.Warn(warning);
  if (settings.attached == KeepAttached::kNo) return absl::OkStatus();
  const absl::Status end = AwaitWord(launch, interrupts, console);
  launch.channel().Close();
  launch.AwaitEnd();
  // Ending a foreground mount by Ctrl-C is the usual way.
  return ExitCodeOf(end) == kExitInterrupted ? absl::OkStatus() : end;
}

// A mount whose workers were given up gets new ones; nullopt: there is none at the mount point.
std::optional<absl::Status> ReviveDegraded(const VolumeOptions& options, const GuardSettings& settings) {
  const auto guard = FindGuardOf(settings.mount_point);
  if (!guard || !IsImageMountedAt(settings.mount_point)) return std::nullopt;
  const auto status = AskForStatus(*guard);
  if (!status.ok() || status->state != "degraded" || status->source != options.source.ToString())
    return std::nullopt;
  if (guard->shares && !guard->claims.HasSource(settings.identity.name)) return std::nullopt;
  return SendRevival(*guard, settings, options.state_dir);
}

bool IsStillMade(const GuardProcess& guard) {
  const auto report = AskForReport(guard);
  return report.ok() && report->body.state == MountState::kBuilding;
}

// After umount(8) a guard needs a moment to notice, in which its mount point is taken.
void AwaitEndOfUnmounted(const std::string& mount_point) {
  for (int look = 0; look < kUnmountedLooks; ++look) {
    const auto guard = FindGuardOf(mount_point);
    if (!guard || guard->claims.fading || IsImageMountedAt(mount_point) || IsStillMade(*guard)) return;
    absl::SleepFor(kUnmountedPause);
  }
}

absl::Status PrepareAndLaunch(const VolumeOptions& options, GuardSettings settings,
                              const UniqueFd& interrupts, Console& console) {
  ASSIGN_OR_RETURN(const GuardSurroundings surroundings, GuardSurroundings::Prepare(options, settings));
  return LaunchAndAwait(settings, interrupts, console);
}

// A worker that was killed cannot remove its unfinished index, and one that is still dying holds its lock.
void SweepRemains(const std::string& state_dir) {
  const IndexStore indexes(state_dir, Clock::Real());
  for (int attempt = 0; attempt < kSweepAttempts && !indexes.Collect(); ++attempt)
    absl::SleepFor(kSweepPause);
  CollectCgroups();
}

// How long whoever has a source may be of no use: one that ends, and one that cannot be seen yet, is for a
// moment.
class Patience {
 public:
  /// `owner`: 0 for one that cannot be seen. False: it has been tried for long enough.
  bool Has(pid_t owner) {
    const absl::Time now = absl::Now();
    if (std::exchange(owner_, owner) != owner) give_up_ = now + kOwnerLimit;
    return now < give_up_;
  }

 private:
  pid_t owner_ = -1;
  absl::Time give_up_;
};

// One guard for each source, whoever comes first.
absl::Status MountOrJoin(const VolumeOptions& options, const GuardSettings& settings,
                         const UniqueFd& interrupts, Console& console) {
  CollectRunDirectories(options.run_dir);
  CollectLocks();
  Patience patience;
  while (!WasInterrupted(interrupts)) {
    if (const auto guard = FindOwner(settings.identity.name)) {
      absl::Status joined = JoinMount(*guard, settings, interrupts, console);
      if (!absl::IsUnavailable(joined) || !patience.Has(guard->pid)) return joined;
    } else {
      absl::Status mounted = PrepareAndLaunch(options, settings, interrupts, console);
      if (mounted.ok()) return mounted;
      if (!absl::IsAborted(mounted)) {
        SweepRemains(options.state_dir);
        return mounted;
      }
      if (!patience.Has(0)) return Annotate(mounted, "its guard cannot be seen from here");
    }
    absl::SleepFor(kOwnerPause);
  }
  return InterruptedError("interrupted");
}

}  // namespace

absl::Status RunMount(const CommandContext& context, const Arguments& arguments, Console& console) {
  if (arguments.positional.size() != 2)
    return UsageError("usage: bucketvol mount SOURCE MOUNTPOINT [-o OPTIONS]");
  ASSIGN_OR_RETURN(const VolumeRequest request,
                   ParseVolumeRequest(context, arguments.positional[0], arguments.option_lists));
  for (const std::string& warning : request.options.warnings) console.Warn(warning);
  if (geteuid() != 0) return absl::PermissionDeniedError("mounting needs root: run it with sudo");
  GuardSettings settings;
  settings.mount_point = ResolveMountPoint(arguments.positional[1]);
  settings.program_directory = context.program_directory;
  settings.run_directory = NewRunDirectory(request.options.run_dir);
  settings.transport =
      request.options.transport == TransportKind::kFile ? Transport::kFile : Transport::kLoop;
  settings.attached = arguments.Has("--foreground") ? KeepAttached::kYes : KeepAttached::kNo;
  settings.request_timeout = request.options.request_timeout;
  settings.spec = request.spec.Reveal();
  settings.identity = request.identity;

  AwaitEndOfUnmounted(settings.mount_point);
  if (const auto revived = ReviveDegraded(request.options, settings)) return *revived;
  RETURN_IF_ERROR(CheckMountPoint(settings.mount_point));
  ASSIGN_OR_RETURN(const UniqueFd interrupts, WatchForInterrupts());
  return MountOrJoin(request.options, settings, interrupts, console);
}

}  // namespace bucketvol
