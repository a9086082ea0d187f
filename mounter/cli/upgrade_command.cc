#include "mounter/cli/upgrade_command.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/exit_code.h"
#include "mounter/cli/guard_finder.h"
#include "mounter/cli/mount_point.h"
#include "mounter/cli/mount_programs.h"
#include "mounter/cli/mount_status.h"

namespace bucketvol {
namespace {

// A guard gives up a new worker after 30 s.
constexpr int kAnswerLimitMs = 60'000;

// The state directory of a guard that runs from a copy of its programs:
// STATE_DIR/bundle/HASH/bucketvol-guard.
std::string StateDirectoryOf(const GuardProcess& guard) {
  char program[PATH_MAX];
  const ssize_t size = readlink(absl::StrCat("/proc/", guard.pid, "/exe").c_str(), program, sizeof program);
  const std::string path(program, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  const size_t bundle = path.rfind("/bundle/");
  return bundle == std::string::npos ? "" : path.substr(0, bundle);
}

absl::Status UpgradeOne(const GuardProcess& guard, const std::string& program,
                        std::string program_directory) {
  ASSIGN_OR_RETURN(const GuardReport report, AskForReport(guard));
  if (report.body.protocol < kProtocolUpgrade) {
    return absl::UnimplementedError(absl::StrCat(
        "guard is of a version that cannot do that; unmount and mount again: ", guard.mount_point));
  }
  std::optional<Bundle> copy;
  std::vector<std::string> ignored;
  const std::string state_dir = StateDirectoryOf(guard);
  if (program.empty() && !state_dir.empty()) copy = CopyPrograms(state_dir, program_directory, ignored);
  const std::string chosen = program.empty() ? program_directory + "/bucketvol" : program;
  const std::string packet = EncodePacket(MessageType::kUpgrade, "", JoinStrings({chosen}));
  ASSIGN_OR_RETURN(const Message answer, AskGuard(guard, packet, MessageType::kResult, kAnswerLimitMs));
  return Annotate(StatusOfResult(answer), absl::StrCat("not upgraded: ", guard.mount_point));
}

absl::StatusOr<std::vector<GuardProcess>> Chosen(const Arguments& arguments) {
  if (arguments.Has("--all")) return FindGuards();
  const std::string mount_point = ResolveMountPoint(arguments.positional[0]);
  auto guard = FindGuardOf(mount_point);
  if (!guard) return absl::NotFoundError(absl::StrCat("not mounted by bucketvol: ", mount_point));
  return std::vector<GuardProcess>{*std::move(guard)};
}

}  // namespace

absl::Status RunUpgrade(const CommandContext& context, const Arguments& arguments, Console& console) {
  if (arguments.positional.size() != (arguments.Has("--all") ? 0 : 1))
    return UsageError("usage: bucketvol upgrade MOUNTPOINT|--all [--program FILE]");
  const std::string program = arguments.program.empty() ? "" : ResolveMountPoint(arguments.program);
  ASSIGN_OR_RETURN(const std::vector<GuardProcess> guards, Chosen(arguments));
  std::vector<absl::Status> failures;
  for (const GuardProcess& guard : guards) {
    if (absl::Status status = UpgradeOne(guard, program, context.program_directory); !status.ok())
      failures.push_back(std::move(status));
  }
  if (failures.empty()) return absl::OkStatus();
  for (size_t i = 0; i + 1 < failures.size(); ++i) console.Warn(failures[i].message());
  return failures.back();
}

}  // namespace bucketvol
