#include "mounter/base/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

namespace bucketvol {
namespace {

UniqueFd OpenDirectory(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

int HoldDirectory(const std::string& path, UniqueFd& lock) {
  UniqueFd fd = OpenDirectory(path);
  if (!fd.valid()) return errno;
  while (flock(fd.get(), LOCK_SH) != 0) {
    if (errno != EINTR) return errno;
  }
  if (!IsTheFileAt(fd, path)) return ENOENT;
  lock = std::move(fd);
  return 0;
}

UniqueFd SeizeDirectory(const std::string& path) {
  UniqueFd fd = OpenDirectory(path);
  if (!fd.valid() || flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || !IsTheFileAt(fd, path)) return UniqueFd();
  return fd;
}

}  // namespace bucketvol
