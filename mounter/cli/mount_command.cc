#include "mounter/cli/mount_command.h"

#include <poll.h>

#include <optional>

#include "absl/time/clock.h"
#include "mounter/base/clock.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/exit_code.h"
#include "mounter/cli/guard_finder.h"
#include "mounter/cli/guard_launcher.h"
#include "mounter/cli/guard_surroundings.h"
#include "mounter/cli/index_store.h"
#include "mounter/cli/interrupts.h"
#include "mounter/cli/mount_point.h"
#include "mounter/cli/mount_programs.h"
#include "mounter/cli/mount_status.h"
#include "mounter/cli/volume_request.h"
#include "mounter/cli/worker_limits.h"

namespace bucketvol {
namespace {

// A guard tries for a quarter of a request's time before it gives up again.
constexpr int kRevivalLimitMs = 60'000;
// The kernel tears down loop devices, the worker its memory.
constexpr int kUnmountedLimitMs = 5'000;
constexpr int kSweepAttempts = 50;
constexpr absl::Duration kSweepPause = absl::Milliseconds(20);

absl::Status GuardIsGone(GuardLaunch& launch) {
  const std::string how = launch.AwaitEnd();
  return absl::InternalError(how.empty() ? "guard ended unexpectedly" : how);
}

// Shows what the guard tells until it gives a result. Interrupted: the launch is to be given up.
absl::Status AwaitResult(GuardLaunch& launch, const UniqueFd& interrupts, Console& console) {
  while (true) {
    pollfd ready[] = {{interrupts.get(), POLLIN, 0}, {launch.channel().fd(), POLLIN, 0}};
    if (poll(ready, 2, -1) < 0) continue;
    if (ready[0].revents != 0) return InterruptedError("interrupted");
    Message message;
    switch (launch.channel().Receive(message)) {
      case Channel::Received::kNothing:
        continue;
      case Channel::Received::kClosed:
        return GuardIsGone(launch);
      case Channel::Received::kMessage:
        break;
    }
    if (message.Is(MessageType::kProgress)) console.Progress(message.BodyAs<ProgressBody>());
    if (message.Is(MessageType::kWarning)) console.Warn(message.Strings(1)[0]);
    if (message.Is(MessageType::kResult)) return StatusOfResult(message);
  }
}

// From the start of the guard to its commitment; with --foreground to the end of the mount.
absl::Status LaunchAndAwait(const GuardSettings& settings, const UniqueFd& interrupts, Console& console) {
  ASSIGN_OR_RETURN(GuardLaunch launch, GuardLaunch::Start(settings));
  RETURN_IF_ERROR(AwaitResult(launch, interrupts, console));
  // A signal that came together with the result wins: who interrupts wants no mount.
  if (WasInterrupted(interrupts)) return InterruptedError("interrupted");
  RETURN_IF_ERROR(launch.Commit());
  for (const std::string& warning : settings.warnings) console.Warn(warning);
  if (settings.attached == KeepAttached::kNo) return absl::OkStatus();
  const absl::Status end = AwaitResult(launch, interrupts, console);
  launch.channel().Close();
  launch.AwaitEnd();
  // Ending a foreground mount by Ctrl-C is the usual way.
  return ExitCodeOf(end) == kExitInterrupted ? absl::OkStatus() : end;
}

// A mount whose workers were given up gets new ones; nullopt: there is none at the mount point.
std::optional<absl::Status> ReviveDegraded(const VolumeOptions& options, GuardSettings settings) {
  const auto guard = FindGuardOf(settings.mount_point);
  if (!guard || !IsImageMountedAt(settings.mount_point)) return std::nullopt;
  const auto status = AskForStatus(*guard);
  if (!status.ok() || status->state != "degraded" || status->source != options.source.ToString())
    return std::nullopt;
  const auto programs = CopyPrograms(options.state_dir, settings.program_directory, settings.warnings);
  const std::string packet =
      EncodePacket(MessageType::kRevive, "", JoinStrings({settings.worker_program(), settings.spec}));
  const auto answer = AskGuard(*guard, packet, MessageType::kResult, kRevivalLimitMs);
  return answer.ok() ? StatusOfResult(*answer) : answer.status();
}

// After umount(8) a guard lives for a moment longer, in which its mount point is taken.
void AwaitEndOfUnmounted(const std::string& mount_point) {
  const auto guard = FindGuardOf(mount_point);
  if (!guard || IsImageMountedAt(mount_point)) return;
  const UniqueFd process = OpenProcessOf(*guard);
  const auto report = AskForReport(*guard);
  if (report.ok() && report->body.state == MountState::kBuilding) return;
  if (!IsImageMountedAt(mount_point)) AwaitExit(process, kUnmountedLimitMs);
}

absl::Status PrepareAndLaunch(const VolumeOptions& options, GuardSettings& settings,
                              const UniqueFd& interrupts, Console& console) {
  CollectRunDirectories(options.run_dir);
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
  settings.run_directory = RunDirectoryOf(request.options.run_dir, settings.mount_point);
  settings.transport =
      request.options.transport == TransportKind::kFile ? Transport::kFile : Transport::kLoop;
  settings.attached = arguments.Has("--foreground") ? KeepAttached::kYes : KeepAttached::kNo;
  settings.request_timeout = request.options.request_timeout;
  settings.spec = request.spec.Reveal();

  AwaitEndOfUnmounted(settings.mount_point);
  if (const auto revived = ReviveDegraded(request.options, settings)) return *revived;
  RETURN_IF_ERROR(CheckMountPoint(settings.mount_point));
  ASSIGN_OR_RETURN(const UniqueFd interrupts, WatchForInterrupts());
  absl::Status status = PrepareAndLaunch(request.options, settings, interrupts, console);
  if (!status.ok()) SweepRemains(request.options.state_dir);
  return status;
}

}  // namespace bucketvol
