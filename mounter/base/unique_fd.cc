#include "mounter/base/unique_fd.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace bucketvol {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

void UniqueFd::Reset() {
  if (fd_ < 0) return;
  const int saved = errno;
  close(fd_);
  errno = saved;
  fd_ = -1;
}

bool IsTheFileAt(const UniqueFd& fd, const std::string& path) {
  struct stat open_file;
  struct stat named;
  return fstat(fd.get(), &open_file) == 0 && stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

}  // namespace bucketvol
