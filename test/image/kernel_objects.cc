#include "test/image/kernel_objects.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"

namespace bucketvol::testing {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<UniqueFd> MakeMount(const std::string& type, const Options& options) {
  UniqueFd context(fsopen(type.c_str(), FSOPEN_CLOEXEC));
  if (!context.valid()) return ErrnoToStatus(errno, absl::StrCat("fsopen ", type));
  for (const auto& [name, value] : options) {
    if (fsconfig(context.get(), FSCONFIG_SET_STRING, name.c_str(), value.c_str(), 0) != 0) {
      return ErrnoToStatus(errno, absl::StrCat("fsconfig ", name, "=", value));
    }
  }
  fsconfig(context.get(), FSCONFIG_SET_FLAG, "ro", nullptr, 0);
  if (fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("create ", type));
  }
  UniqueFd mount(fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY));
  if (!mount.valid()) return ErrnoToStatus(errno, absl::StrCat("fsmount ", type));
  return mount;
}

}  // namespace

std::string WhyNoKernelObjects() {
  if (geteuid() != 0) return "needs root";
  for (const char* path : {"/dev/fuse", "/dev/loop-control"}) {
    if (access(path, R_OK | W_OK) != 0) return absl::StrCat("needs ", path);
  }
  const absl::StatusOr<std::string> types = ReadWholeFile("/proc/filesystems", 1 << 20);
  if (!types.ok() || !absl::StrContains(*types, "\terofs")) return "needs a kernel with erofs";
  return MakeMount("tmpfs", {}).ok() ? "" : "needs to be allowed to mount";
}

absl::StatusOr<FuseMount> MakeFuseMount() {
  ASSIGN_OR_RETURN(UniqueFd device, OpenFile("/dev/fuse", O_RDWR));
  ASSIGN_OR_RETURN(UniqueFd mount, MakeMount("fuse", {{"fd", absl::StrCat(device.get())},
                                                      {"rootmode", "40000"},
                                                      {"user_id", "0"},
                                                      {"group_id", "0"},
                                                      {"source", "bucketvol-test"}}));
  return FuseMount{std::move(device), std::move(mount)};
}

absl::StatusOr<LoopDevice> MakeLoopDevice(int file, bool direct) {
  ASSIGN_OR_RETURN(const UniqueFd control, OpenFile("/dev/loop-control", O_RDWR));
  for (int attempt = 0; attempt < 50; ++attempt) {  // Another process may take the free number first.
    const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return ErrnoToStatus(errno, "no free loop device");
    LoopDevice loop;
    loop.path = absl::StrCat("/dev/loop", number);
    ASSIGN_OR_RETURN(loop.fd, OpenFile(loop.path, O_RDONLY));
    loop_config config{};
    config.fd = static_cast<uint32_t>(file);
    config.block_size = 4096;
    config.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR | (direct ? LO_FLAGS_DIRECT_IO : 0);
    if (ioctl(loop.fd.get(), LOOP_CONFIGURE, &config) == 0) {
      const absl::StatusOr<std::string> direct_now =
          ReadWholeFile(absl::StrCat("/sys/block/loop", number, "/loop/dio"), 16);
      loop.direct = direct_now.ok() && absl::StartsWith(*direct_now, "1");
      return loop;
    }
    if (errno != EBUSY) return ErrnoToStatus(errno, absl::StrCat("LOOP_CONFIGURE ", loop.path));
  }
  return absl::UnavailableError("loop devices are taken by others all the time");
}

absl::StatusOr<UniqueFd> MountErofs(const std::string& image, const std::vector<std::string>& devices) {
  Options options = {{"source", image}};
  for (const std::string& device : devices) options.emplace_back("device", device);
  return MakeMount("erofs", options);
}

int64_t CachedPages(int file) {
  constexpr long kCachestat = 451;         // Not in this C library.
  std::array<uint64_t, 2> range = {0, 0};  // All.
  std::array<uint64_t, 5> pages{};         // The first: in the cache.
  return syscall(kCachestat, file, range.data(), pages.data(), 0) == 0 ? static_cast<int64_t>(pages[0]) : -1;
}

}  // namespace bucketvol::testing
