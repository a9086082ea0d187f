#include "test/support/erofs_mount.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"

namespace bucketvol::testing {
namespace {

constexpr unsigned kLoopMajor = 7;
constexpr int kAttempts = 50;  // Another process may take the free device first.

absl::StatusOr<UniqueFd> OpenLoop(int number, std::string& path) {
  path = absl::StrCat("/dev/loop", number);
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) {
    mknod(path.c_str(), S_IFBLK | 0600, makedev(kLoopMajor, number));
    fd = UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  if (!fd.valid()) return ErrnoToStatus(errno, absl::StrCat("open ", path));
  return fd;
}

absl::StatusOr<UniqueFd> SparseFile(uint64_t bytes) {
  UniqueFd fd(memfd_create("data", MFD_CLOEXEC));
  if (!fd.valid() || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return ErrnoToStatus(errno, "memory file");
  return fd;
}

}  // namespace

std::string WhyNoMounting() {
  if (geteuid() != 0) return "only root can mount";
  std::ifstream file("/proc/filesystems");
  std::stringstream systems;
  systems << file.rdbuf();
  return systems.str().find("erofs") != std::string::npos ? ""
                                                          : "this kernel has no EROFS (try: modprobe erofs)";
}

absl::StatusOr<LoopDevice> LoopDevice::Attach(const UniqueFd& file) {
  ASSIGN_OR_RETURN(const UniqueFd control, OpenFile("/dev/loop-control", O_RDWR));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return ErrnoToStatus(errno, "find a free loop device");
    std::string path;
    ASSIGN_OR_RETURN(UniqueFd fd, OpenLoop(number, path));
    loop_config config = {};
    config.fd = static_cast<uint32_t>(file.get());
    config.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR;
    if (ioctl(fd.get(), LOOP_CONFIGURE, &config) == 0) return LoopDevice(std::move(fd), path);
    if (errno != EBUSY) return ErrnoToStatus(errno, absl::StrCat("configure ", path));
  }
  return absl::UnavailableError("loop devices are always busy");
}

absl::StatusOr<std::unique_ptr<MountedImage>> MountedImage::Mount(const std::string& index_directory,
                                                                  const IndexManifest& manifest,
                                                                  const std::string& mountpoint) {
  std::unique_ptr<MountedImage> image(new MountedImage);
  ASSIGN_OR_RETURN(const UniqueFd meta, OpenFile(absl::StrCat(index_directory, "/", kMetaName), O_RDONLY));
  ASSIGN_OR_RETURN(LoopDevice primary, LoopDevice::Attach(meta));
  std::vector<std::string> options;
  for (const DataDevice& device : manifest.devices) {
    ASSIGN_OR_RETURN(UniqueFd data, SparseFile(device.blocks * kIndexBlockBytes));
    ASSIGN_OR_RETURN(LoopDevice loop, LoopDevice::Attach(data));
    options.push_back(absl::StrCat("device=", loop.path()));
    image->data_.push_back(std::move(data));
    image->loops_.push_back(std::move(loop));
  }
  const std::string words = absl::StrJoin(options, ",");
  if (mount(primary.path().c_str(), mountpoint.c_str(), "erofs", MS_RDONLY, words.c_str()) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("mount with ", words));
  }
  image->mountpoint_ = mountpoint;
  image->loops_.push_back(std::move(primary));
  return image;
}

MountedImage::~MountedImage() {
  if (!mountpoint_.empty() && umount(mountpoint_.c_str()) != 0) umount2(mountpoint_.c_str(), MNT_DETACH);
}

absl::Status MountedImage::WriteData(uint32_t device, uint64_t offset, absl::string_view bytes) {
  return WriteAllAt(data_.at(device).get(), bytes, offset, "memory file");
}

std::string FsckErofs(const std::string& index_directory, const IndexManifest& manifest) {
  std::string command = "fsck.erofs";
  for (size_t i = 0; i < manifest.devices.size(); ++i) absl::StrAppend(&command, " --device=/dev/zero");
  absl::StrAppend(&command, " '", index_directory, "/", kMetaName, "' 2>&1");
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot run fsck.erofs";
  std::string output;
  char buffer[4096];
  while (size_t got = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, got);
  return pclose(pipe) == 0 ? "" : absl::StrCat("fsck.erofs failed: ", output);
}

}  // namespace bucketvol::testing
