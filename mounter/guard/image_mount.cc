#include "mounter/guard/image_mount.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "mounter/guard/fs_context.h"
#include "mounter/guard/loop_device.h"
#include "mounter/guard/small_file.h"

namespace bucketvol {
namespace {

// A request of 1 MiB stays whole: 1,280 KiB would arrive as 1,024 + 256.
constexpr unsigned kMaxRequestKb = 1024;

std::string DataName(uint32_t index) { return "data" + std::to_string(index); }

Outcome<UniqueFd> OpenData(const UniqueFd& fuse_mount, uint32_t index) {
  UniqueFd file(openat(fuse_mount.get(), DataName(index).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return SystemFailure(errno, "worker does not serve " + DataName(index));
  return file;
}

// A label is cut at its end, and mount points differ in theirs.
std::string Label(const ImagePlan& plan) {
  constexpr size_t kMost = 63;
  const size_t size = plan.mount_point.size();
  return plan.mount_point.substr(size > kMost ? size - kMost : 0);
}

Outcome<LoopDevice> MakeLoop(const ImagePlan& plan, const UniqueFd& file, LoopDevice::DirectIo direct_io) {
  ASSIGN_OR_FAIL(LoopDevice loop, LoopDevice::Attach(file, direct_io, Label(plan)));
  loop.SetQueue("read_ahead_kb", plan.read_ahead_kb);  // Refused where /sys is read-only: slower, not wrong.
  return loop;
}

Outcome<std::vector<LoopDevice>> MakeLoops(const ImagePlan& plan, const UniqueFd& meta,
                                           const UniqueFd& fuse_mount) {
  std::vector<LoopDevice> loops;
  // Buffered: EROFS asks for directories block by block, and the file's own read-ahead turns that into large
  // reads of the disk. A new image lies in the page cache already.
  ASSIGN_OR_FAIL(LoopDevice first, MakeLoop(plan, meta, LoopDevice::DirectIo::kOff));
  loops.push_back(std::move(first));
  for (uint32_t i = 0; i < plan.devices; ++i) {
    ASSIGN_OR_FAIL(const UniqueFd data, OpenData(fuse_mount, i));
    ASSIGN_OR_FAIL(LoopDevice loop, MakeLoop(plan, data, LoopDevice::DirectIo::kRequired));
    loops.push_back(std::move(loop));
  }
  return loops;
}

Outcome<UniqueFd> CreateErofs(FsContext& context) {
  RETURN_IF_FAILED(context.SetFlag("ro"));
  auto created = context.Create();
  if (!created.ok()) {
    created.failure().text += "; the kernel log has the reason (dmesg)";
    return std::move(created.failure());
  }
  return context.Mount(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

Outcome<UniqueFd> MountOverLoops(const std::vector<LoopDevice>& loops) {
  ASSIGN_OR_FAIL(FsContext context, FsContext::Open("erofs"));
  RETURN_IF_FAILED(context.Set("source", loops.front().path()));
  for (size_t i = 1; i < loops.size(); ++i) RETURN_IF_FAILED(context.Set("device", loops[i].path()));
  return CreateErofs(context);
}

std::set<std::string> ErofsBackingDevices() {
  std::set<std::string> names;
  DIR* directory = opendir("/sys/class/bdi");
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    if (std::string_view(entry->d_name).substr(0, 6) == "erofs-") names.insert(entry->d_name);
  }
  closedir(directory);
  return names;
}

// A file-backed mount has a backing device of its own, named by a counter that nothing else tells: it is the
// new one.
void SetReadAheadOfNew(const std::set<std::string>& before, uint32_t read_ahead_kb) {
  for (const std::string& name : ErofsBackingDevices()) {
    if (before.count(name) == 0) {
      WriteSmallFile("/sys/class/bdi/" + name + "/read_ahead_kb", std::to_string(read_ahead_kb));
    }
  }
}

// Kernels before 6.12 do not know the option, and look for a block device.
Failure WithoutFileTransport(Failure failure) {
  failure.text += "; transport=file needs Linux 6.12 and an index on a disk file system: use transport=loop";
  return failure;
}

Outcome<UniqueFd> MountOverFiles(const ImagePlan& plan, const UniqueFd& fuse_mount) {
  const std::set<std::string> before = ErofsBackingDevices();
  ASSIGN_OR_FAIL(FsContext context, FsContext::Open("erofs"));
  if (auto set = context.SetFlag("directio"); !set.ok())
    return WithoutFileTransport(std::move(set.failure()));
  RETURN_IF_FAILED(context.Set("source", plan.meta_path));
  const std::string directory = "/proc/self/fd/" + std::to_string(fuse_mount.get()) + "/";
  for (uint32_t i = 0; i < plan.devices; ++i)
    RETURN_IF_FAILED(context.Set("device", directory + DataName(i)));
  auto mount = CreateErofs(context);
  if (!mount.ok() && mount.failure().error == ENOTBLK)
    return WithoutFileTransport(std::move(mount.failure()));
  if (mount.ok()) SetReadAheadOfNew(before, plan.read_ahead_kb);
  return mount;
}

// Proves that the image answers before anybody can see it.
Step ListRoot(const UniqueFd& mount) {
  UniqueFd root(openat(mount.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return SystemFailure(errno, "open the root of the image");
  alignas(dirent64) char entries[4096];
  if (getdents64(root.get(), entries, sizeof entries) < 0)
    return SystemFailure(errno, "list the root of the image");
  return Nothing{};
}

// `mount`: also one that is attached nowhere.
Outcome<StandingMount> Identify(const UniqueFd& mount, const std::string& path) {
  struct statx info;
  if (statx(mount.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &info) != 0)
    return SystemFailure(errno, "stat the image");
  return StandingMount{path, info.stx_mnt_id, gnu_dev_makedev(info.stx_dev_major, info.stx_dev_minor)};
}

bool IsAt(const StandingMount& wanted, const UniqueFd& root) {
  const auto found = Identify(root, "");
  return found.ok() && found.value().id == wanted.id && found.value().device == wanted.device;
}

Outcome<UniqueFd> CloneMount(const UniqueFd& root) {
  UniqueFd mount(
      open_tree(root.get(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | static_cast<unsigned>(OPEN_TREE_CLOEXEC)));
  if (!mount.valid()) return SystemFailure(errno, "clone the mount");
  mount_attr attributes = {};
  attributes.propagation = MS_PRIVATE;
  if (mount_setattr(mount.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0)
    return SystemFailure(errno, "set the mount apart");
  return mount;
}

}  // namespace

Outcome<MountedImage> MountImage(const ImagePlan& plan, const UniqueFd& meta, const UniqueFd& fuse_mount) {
  MountedImage image;
  UniqueFd mount;
  if (plan.transport == Transport::kLoop) {
    ASSIGN_OR_FAIL(image.loops, MakeLoops(plan, meta, fuse_mount));
    ASSIGN_OR_FAIL(mount, MountOverLoops(image.loops));
  } else {
    ASSIGN_OR_FAIL(mount, MountOverFiles(plan, fuse_mount));
  }
  RETURN_IF_FAILED(ListRoot(mount));
  ASSIGN_OR_FAIL(const StandingMount made, Identify(mount, plan.mount_point));
  image.mount_id = made.id;
  image.device = made.device;
  RETURN_IF_FAILED(AttachMount(mount, plan.mount_point));
  return image;
}

Outcome<StandingMount> MountAgain(const std::vector<StandingMount>& standing,
                                  const std::string& mount_point) {
  for (const StandingMount& one : standing) {
    const UniqueFd root(open(one.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid() || !IsAt(one, root)) continue;
    ASSIGN_OR_FAIL(const UniqueFd mount, CloneMount(root));
    ASSIGN_OR_FAIL(StandingMount made, Identify(mount, mount_point));
    RETURN_IF_FAILED(AttachMount(mount, mount_point));
    return made;
  }
  return Failure{0, "other file systems are mounted over every mount point of the source"};
}

void TuneRequests(const std::vector<LoopDevice>& loops) {
  for (const LoopDevice& loop : loops) loop.SetQueue("max_sectors_kb", kMaxRequestKb);
}

}  // namespace bucketvol
