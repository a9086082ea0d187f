#include "mounter/cli/mount_point.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/cli/guard_finder.h"
#include "mounter/guard/mount_table.h"
#include "mounter/guard/run_directory.h"
#include "mounter/guard/small_file.h"
#include "mounter/index/index_file.h"

namespace bucketvol {
namespace {

// The file under a mount: that of its loop device, or the source itself.
std::string BackingFile(const MountEntry& mount) {
  if (!absl::StartsWith(mount.source, "/dev/loop")) return mount.source;
  std::string file = ReadSmallFile(absl::StrCat("/sys/block/", mount.source.substr(5), "/loop/backing_file"));
  return std::string(absl::StripSuffix(absl::StripSuffix(file, "\n"), " (deleted)"));
}

std::optional<ImageMount> AsImageMount(const MountEntry& mount) {
  if (mount.type != "erofs") return std::nullopt;
  const std::string file = BackingFile(mount);
  const std::string name = absl::StrCat("/", kMetaName);
  if (!absl::EndsWith(file, name)) return std::nullopt;
  return ImageMount{mount.mount_point, file.substr(0, file.size() - name.size()),
                    absl::StartsWith(mount.source, "/dev/loop") ? "loop" : "file"};
}

// As NewRunDirectory makes them.
bool IsRunDirectoryName(absl::string_view name) {
  return name.size() == 16 && absl::c_all_of(name, absl::ascii_isxdigit);
}

}  // namespace

std::string ResolveMountPoint(const std::string& path) {
  if (char* resolved = realpath(path.c_str(), nullptr)) {
    std::string out = resolved;
    free(resolved);
    return out;
  }
  std::string text = path;
  if (!absl::StartsWith(text, "/")) {
    char current[PATH_MAX];
    if (getcwd(current, sizeof current) != nullptr) text = absl::StrCat(current, "/", text);
  }
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

bool IsImageMountedAt(const std::string& path) {
  const auto top = TopMountAt(ReadMountTable(), path);
  return top && AsImageMount(*top);
}

absl::Status CheckMountPoint(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return absl::NotFoundError(absl::StrCat("mount point does not exist: ", path));
    return ErrnoToStatus(errno, absl::StrCat("mount point ", path));
  }
  if (!S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("mount point is not a directory: ", path));
  }
  const bool mounted = IsImageMountedAt(path);
  if (const auto guard = FindGuardOf(path); guard && !guard->claims.fading) {
    return absl::AlreadyExistsError(
        mounted
            ? absl::StrCat("mount point is busy: bucketvol mounts something there; unmount it first: ", path)
            : absl::StrCat("mount point is busy: a mount is being made there: ", path));
  }
  if (mounted) {
    return absl::AlreadyExistsError(
        absl::StrCat("mount point is busy: a mount of bucketvol whose guard has died is still there; first: "
                     "bucketvol umount ",
                     path));
  }
  return absl::OkStatus();
}

std::string NewRunDirectory(const std::string& run_dir) {
  std::random_device random;
  return absl::StrFormat("%s/%08x%08x", run_dir, random(), random());
}

void CollectRunDirectories(const std::string& run_dir) {
  const std::vector<ImageMount> mounts = FindImageMounts();
  const std::vector<GuardProcess> guards = FindGuards();
  const auto is_orphan = [&](const std::string& mount_point) {
    const auto is_there = [&](const ImageMount& mount) { return mount.mount_point == mount_point; };
    const auto has_it = [&](const GuardProcess& guard) { return guard.claims.HasMountPoint(mount_point); };
    return absl::c_any_of(mounts, is_there) && absl::c_none_of(guards, has_it);
  };
  for (const std::string& name : NamesIn(run_dir)) {
    if (!IsRunDirectoryName(name)) continue;
    const std::string path = absl::StrCat(run_dir, "/", name);
    const auto claims = ReadClaims(path);
    if (!claims || absl::c_none_of(claims->mount_points, is_orphan)) RunDirectory::RemoveStale(path);
  }
}

std::vector<ImageMount> FindImageMounts() {
  std::vector<ImageMount> found;
  const std::vector<MountEntry> table = ReadMountTable();
  for (const MountEntry& entry : table) {
    const auto image = AsImageMount(entry);
    if (image && TopMountAt(table, entry.mount_point)->id == entry.id) found.push_back(*image);
  }
  return found;
}

}  // namespace bucketvol
