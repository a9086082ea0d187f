#include "mounter/cli/status_command.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/exit_code.h"
#include "mounter/cli/guard_finder.h"
#include "mounter/cli/mount_point.h"
#include "mounter/cli/mount_status.h"

namespace bucketvol {
namespace {

// A mount whose guard has not answered.
StatusDocument DescribeUnanswered(const ImageMount& mount) {
  const auto manifest = ReadIndexManifest(mount.index_directory);
  StatusDocument status =
      OrphanStatus(mount.mount_point, mount.transport, manifest.ok() ? &*manifest : nullptr);
  const auto guard = FindGuardOf(mount.mount_point);
  return guard ? WithMuteGuard(std::move(status), *guard) : status;
}

// Whoever looks for a mount point finds an entry of its own.
void AddEachMountPoint(StatusDocument status, std::vector<StatusDocument>& found) {
  for (const std::string& mount_point : std::vector<std::string>(status.mountpoints)) {
    status.mountpoint = mount_point;
    found.push_back(status);
  }
}

std::vector<StatusDocument> FindAll(Console& console) {
  std::vector<StatusDocument> found;
  for (const GuardProcess& guard : FindGuards()) {
    auto status = AskForStatus(guard);
    if (status.ok())
      AddEachMountPoint(*status, found);
    else
      console.Warn(status.status().message());
  }
  const auto known = [&](const ImageMount& mount) {
    return std::any_of(found.begin(), found.end(),
                       [&](const StatusDocument& other) { return other.mountpoint == mount.mount_point; });
  };
  for (const ImageMount& mount : FindImageMounts()) {
    if (!known(mount)) found.push_back(DescribeUnanswered(mount));
  }
  return found;
}

absl::StatusOr<StatusDocument> FindOne(const std::string& mount_point) {
  if (const auto guard = FindGuardOf(mount_point)) {
    auto status = AskForStatus(*guard);
    if (status.ok()) status->mountpoint = mount_point;
    if (status.ok()) return status;
  }
  for (const ImageMount& mount : FindImageMounts()) {
    if (mount.mount_point == mount_point) return DescribeUnanswered(mount);
  }
  return absl::NotFoundError(absl::StrCat("not mounted by bucketvol: ", mount_point));
}

}  // namespace

absl::Status RunStatus(const Arguments& arguments, Console& console) {
  if (arguments.positional.size() > 1) return UsageError("usage: bucketvol status [MOUNTPOINT] [--json]");
  const bool json = arguments.Has("--json");
  if (arguments.positional.size() == 1) {
    ASSIGN_OR_RETURN(const StatusDocument status, FindOne(ResolveMountPoint(arguments.positional[0])));
    Print(json ? status.ToJson() + "\n" : status.ToText());
    return absl::OkStatus();
  }
  const auto write = [&](std::string* out, const StatusDocument& status) {
    absl::StrAppend(out, json ? status.ToJson() : status.ToText());
  };
  const std::string text = absl::StrJoin(FindAll(console), json ? "," : "\n", write);
  Print(json ? absl::StrCat("[", text, "]\n") : text);
  return absl::OkStatus();
}

}  // namespace bucketvol
