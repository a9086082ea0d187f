#include "mounter/base/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace bucketvol {
namespace {

UniqueFd OpenDirectory(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool IsTheDirectoryAt(const UniqueFd& fd, const std::string& path) {
  struct stat open_one;
  struct stat named;
  return fstat(fd.get(), &open_one) == 0 && stat(path.c_str(), &named) == 0 &&
         open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

}  // namespace

int HoldDirectory(const std::string& path, UniqueFd& lock) {
  UniqueFd fd = OpenDirectory(path);
  if (!fd.valid()) return errno;
  while (flock(fd.get(), LOCK_SH) != 0) {
    if (errno != EINTR) return errno;
  }
  if (!IsTheDirectoryAt(fd, path)) return ENOENT;
  lock = std::move(fd);
  return 0;
}

UniqueFd SeizeDirectory(const std::string& path) {
  UniqueFd fd = OpenDirectory(path);
  if (!fd.valid() || flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || !IsTheDirectoryAt(fd, path))
    return UniqueFd();
  return fd;
}

}  // namespace bucketvol
