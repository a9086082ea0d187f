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
#include "mounter/cli/status_document.h"

namespace bucketvol {
namespace {

// The guard answers by itself when its worker takes longer than 2 s.
constexpr int kAnswerLimitMs = 5'000;

struct Found {
  std::string mount_point;
  std::string document;
};

absl::StatusOr<std::string> AskGuard(const GuardProcess& guard) {
  ASSIGN_OR_RETURN(const Channel channel, ConnectToGuard(guard));
  Message reply;
  if (!channel.Send(EncodePacket(MessageType::kStatus, "", "")).ok() ||
      channel.ReceiveWaiting(reply, kAnswerLimitMs) != Channel::Received::kMessage) {
    return absl::UnavailableError(absl::StrCat("guard of ", guard.mount_point, " does not answer"));
  }
  const std::vector<std::string> strings = reply.Strings(3);
  return MountDocument({reply.BodyAs<GuardStatusBody>(), strings[0], strings[1], strings[2]});
}

Found DescribeOrphan(const ImageMount& mount) {
  const auto manifest = ReadIndexManifest(mount.index_directory);
  return {mount.mount_point,
          OrphanDocument(mount.mount_point, mount.transport, manifest.ok() ? &*manifest : nullptr)};
}

std::vector<Found> FindAll(Console& console) {
  std::vector<Found> found;
  for (const GuardProcess& guard : FindGuards()) {
    auto document = AskGuard(guard);
    if (document.ok()) found.push_back({guard.mount_point, *std::move(document)});
    else console.Warn(document.status().message());
  }
  const auto known = [&](const ImageMount& mount) {
    return std::any_of(found.begin(), found.end(),
                       [&](const Found& other) { return other.mount_point == mount.mount_point; });
  };
  for (const ImageMount& mount : FindImageMounts()) {
    if (!known(mount)) found.push_back(DescribeOrphan(mount));
  }
  return found;
}

absl::StatusOr<std::string> FindOne(const std::string& mount_point) {
  if (const auto guard = FindGuardOf(mount_point)) {
    auto document = AskGuard(*guard);
    if (document.ok()) return document;
  }
  for (const ImageMount& mount : FindImageMounts()) {
    if (mount.mount_point == mount_point) return DescribeOrphan(mount).document;
  }
  return absl::NotFoundError(absl::StrCat("not mounted by bucketvol: ", mount_point));
}

}  // namespace

absl::Status RunStatus(const Arguments& arguments, Console& console) {
  if (arguments.positional.size() > 1) return UsageError("usage: bucketvol status [MOUNTPOINT] [--json]");
  const bool json = arguments.Has("--json");
  if (arguments.positional.size() == 1) {
    ASSIGN_OR_RETURN(const std::string document, FindOne(ResolveMountPoint(arguments.positional[0])));
    Print(json ? document + "\n" : DescribeMount(document));
    return absl::OkStatus();
  }
  const std::vector<Found> all = FindAll(console);
  const auto write = [&](std::string* out, const Found& found) {
    absl::StrAppend(out, json ? found.document : DescribeMount(found.document));
  };
  const std::string text = absl::StrJoin(all, json ? "," : "\n", write);
  Print(json ? absl::StrCat("[", text, "]\n") : text);
  return absl::OkStatus();
}

}  // namespace bucketvol
