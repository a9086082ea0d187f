#include "mounter/base/unique_fd.h"

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

}  // namespace bucketvol
