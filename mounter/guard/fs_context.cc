#include "mounter/guard/fs_context.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>

namespace bucketvol {

Outcome<FsContext> FsContext::Open(const std::string& type) {
  UniqueFd fd(fsopen(type.c_str(), FSOPEN_CLOEXEC));
  if (fd.valid()) return FsContext(type, std::move(fd));
  if (errno == ENODEV)
    return Failure{ENODEV, "kernel has no file system " + type + " (load the module " + type + ")"};
  if (errno == EPERM) return Failure{EPERM, "not allowed to mount: run as root, with CAP_SYS_ADMIN"};
  return SystemFailure(errno, "fsopen " + type);
}

// The log holds lines such as "e erofs: …" or "w …", one per read.
Failure FsContext::Explain(int error, const std::string& what) const {
  std::string words;
  char line[512];
  ssize_t got;
  while ((got = read(fd_.get(), line, sizeof line)) > 0) {
    std::string text(line, static_cast<size_t>(got));
    if (text.size() > 2 && text[1] == ' ') text.erase(0, 2);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    words += (words.empty() ? "" : "; ") + text;
  }
  Failure failure = SystemFailure(error, what + " " + type_);
  if (!words.empty()) failure.text += " (" + words + ")";
  return failure;
}

Step FsContext::Set(const char* key, const std::string& value) {
  if (fsconfig(fd_.get(), FSCONFIG_SET_STRING, key, value.c_str(), 0) == 0) return Nothing{};
  return Explain(errno, std::string("set ") + key + "=" + value + " of");
}

Step FsContext::SetFlag(const char* key) {
  if (fsconfig(fd_.get(), FSCONFIG_SET_FLAG, key, nullptr, 0) == 0) return Nothing{};
  return Explain(errno, std::string("set ") + key + " of");
}

Step FsContext::Create() {
  if (fsconfig(fd_.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) return Nothing{};
  return Explain(errno, "mount");
}

Outcome<UniqueFd> FsContext::Mount(unsigned attributes) {
  UniqueFd mount(fsmount(fd_.get(), FSMOUNT_CLOEXEC, attributes));
  if (!mount.valid()) return Explain(errno, "mount");
  return mount;
}

Step AttachMount(const UniqueFd& mount, const std::string& mount_point) {
  if (move_mount(mount.get(), "", AT_FDCWD, mount_point.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0)
    return Nothing{};
  return SystemFailure(errno, "mount at " + mount_point);
}

}  // namespace bucketvol
