#include "mounter/sandbox/mount_tree.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/status_macros.h"

namespace bucketvol {
namespace {

constexpr char kEmptyFile[] = ".empty-file";
constexpr char kEmptyDirectory[] = ".empty-directory";
constexpr uint64_t kInert = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

absl::Status Failed(absl::string_view what) { return bucketvol::ErrnoToStatus(errno, what); }

absl::StatusOr<UniqueFd> NewFileSystem(const char* type,
                                       std::initializer_list<std::pair<const char*, const char*>> options) {
  const UniqueFd context(fsopen(type, FSOPEN_CLOEXEC));
  if (!context.valid()) return Failed(absl::StrCat("fsopen ", type));
  for (const auto& [key, value] : options) {
    if (fsconfig(context.get(), FSCONFIG_SET_STRING, key, value, 0) != 0)
      return Failed(absl::StrCat("set ", key, " of ", type));
  }
  if (fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return Failed(absl::StrCat("make ", type));
  UniqueFd mount(fsmount(context.get(), FSMOUNT_CLOEXEC, kInert));
  if (!mount.valid()) return Failed(absl::StrCat("mount ", type));
  return mount;
}

// Relative to the root of the tree.
const char* Below(const std::string& path) { return path.c_str() + (path[0] == '/' ? 1 : 0); }

absl::Status SetAttributes(const UniqueFd& mount, uint64_t attributes) {
  mount_attr set{};
  set.attr_set = attributes;
  if (mount_setattr(mount.get(), "", AT_EMPTY_PATH, &set, sizeof set) == 0) return absl::OkStatus();
  return Failed("set attributes of a mount");
}

}  // namespace

absl::StatusOr<MountTree> MountTree::Make() {
  if (unshare(CLONE_NEWNS) != 0) return Failed("make a mount namespace");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return Failed("make mounts private");
  ASSIGN_OR_RETURN(UniqueFd root, NewFileSystem("tmpfs", {{"mode", "755"}, {"size", "1m"}}));
  // Attached over the present root, where nothing that was opened before leads to it.
  if (move_mount(root.get(), "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return Failed("attach the new root");
  const UniqueFd file(openat(root.get(), kEmptyFile, O_CREAT | O_WRONLY | O_CLOEXEC, 0));
  if (!file.valid() || mkdirat(root.get(), kEmptyDirectory, 0) != 0) return Failed("make the new root");
  return MountTree(std::move(root));
}

absl::Status MountTree::MakePlace(const std::string& path, bool directory) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (mkdirat(root_.get(), Below(path.substr(0, slash)), 0755) == 0 || errno == EEXIST || errno == EROFS)
      continue;
    return Failed(absl::StrCat("make a place for ", path));
  }
  if (directory) {
    if (mkdirat(root_.get(), Below(path), 0755) == 0 || errno == EEXIST || errno == EROFS)
      return absl::OkStatus();
    return Failed(absl::StrCat("make a place for ", path));
  }
  struct stat info;
  if (fstatat(root_.get(), Below(path), &info, AT_SYMLINK_NOFOLLOW) == 0) return absl::OkStatus();
  const UniqueFd file(openat(root_.get(), Below(path), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  return file.valid() ? absl::OkStatus() : Failed(absl::StrCat("make a place for ", path));
}

absl::Status MountTree::Attach(const UniqueFd& mount, const std::string& path) {
  if (move_mount(mount.get(), "", root_.get(), Below(path), MOVE_MOUNT_F_EMPTY_PATH) == 0)
    return absl::OkStatus();
  return Failed(absl::StrCat("show ", path));
}

absl::Status MountTree::Show(const std::string& path, uint64_t attributes) {
  const UniqueFd tree(open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  struct stat info;
  if (!tree.valid() || fstat(tree.get(), &info) != 0) return Failed(absl::StrCat("look at ", path));
  RETURN_IF_ERROR(SetAttributes(tree, attributes));
  RETURN_IF_ERROR(MakePlace(path, S_ISDIR(info.st_mode)));
  return Attach(tree, path);
}

absl::Status MountTree::Hide(const std::string& path) {
  struct stat info;
  if (fstatat(root_.get(), Below(path), &info, AT_SYMLINK_NOFOLLOW) != 0) return absl::OkStatus();
  const char* empty = S_ISDIR(info.st_mode) ? kEmptyDirectory : kEmptyFile;
  const UniqueFd tree(open_tree(root_.get(), empty, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree.valid()) return Failed(absl::StrCat("hide ", path));
  RETURN_IF_ERROR(SetAttributes(tree, kInert | MOUNT_ATTR_RDONLY));
  return Attach(tree, path);
}

absl::Status MountTree::Link(const std::string& path, const std::string& target) {
  if (symlinkat(target.c_str(), root_.get(), Below(path)) == 0 || errno == EEXIST) return absl::OkStatus();
  return Failed(absl::StrCat("link ", path));
}

absl::Status MountTree::ShowProc() {
  ASSIGN_OR_RETURN(const UniqueFd proc,
                   NewFileSystem("proc", {{"subset", "pid"}, {"hidepid", "ptraceable"}}));
  RETURN_IF_ERROR(MakePlace("/proc", true));
  return Attach(proc, "/proc");
}

absl::Status MountTree::Enter() {
  RETURN_IF_ERROR(SetAttributes(root_, kInert | MOUNT_ATTR_RDONLY));
  if (fchdir(root_.get()) != 0) return Failed("enter the new root");
  // With both at one place the old root is stacked on the new one (pivot_root(2)).
  if (syscall(SYS_pivot_root, ".", ".") == 0)
    return umount2(".", MNT_DETACH) == 0 ? absl::OkStatus() : Failed("drop the old root");
  // Where the root of this process is no mount (a chroot), or the first one of the kernel.
  if (errno != EINVAL || chroot(".") != 0) return Failed("change the root");
  return chdir("/") == 0 ? absl::OkStatus() : Failed("change the root");
}

}  // namespace bucketvol
