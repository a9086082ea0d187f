#include "mounter/cli/upgrade_command.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/exit_code.h"
#include "mounter/cli/guard_finder.h"
#include "mounter/cli/mount_point.h"
#include "mounter/cli/mount_status.h"

namespace bucketvol {
namespace {

// A guard gives up a new worker after 30 s.
constexpr int kAnswerLimitMs = 60'000;

absl::Status UpgradeOne(const GuardProcess& guard, const std::string& program) {
  ASSIGN_OR_RETURN(const GuardReport report, AskForReport(guard));
  if (report.body.protocol < kProtocol) {
    return absl::UnimplementedError(absl::StrCat(
        "guard is of a version that cannot do that; unmount and mount again: ", guard.mount_point));
  }
  const std::string packet = EncodePacket(MessageType::kUpgrade, "", JoinStrings({program}));
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
  const std::string program = arguments.program.empty() ? context.program_directory + "/bucketvol"
                                                        : ResolveMountPoint(arguments.program);
  ASSIGN_OR_RETURN(const std::vector<GuardProcess> guards, Chosen(arguments));
  std::vector<absl::Status> failures;
  for (const GuardProcess& guard : guards) {
    if (absl::Status status = UpgradeOne(guard, program); !status.ok()) failures.push_back(std::move(status));
  }
  if (failures.empty()) return absl::OkStatus();
  for (size_t i = 0; i + 1 < failures.size(); ++i) console.Warn(failures[i].message());
  return failures.back();
}

}  // namespace bucketvol
