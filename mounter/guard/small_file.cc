#include "mounter/guard/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "mounter/base/unique_fd.h"

namespace bucketvol {

std::string ReadSmallFile(const std::string& path, size_t limit) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  char buffer[8 * 1024];
  while (fd.valid() && content.size() < limit) {
    const ssize_t got = read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    content.append(buffer, static_cast<size_t>(got));
  }
  return content;
}

bool WriteSmallFile(const std::string& path, const std::string& content) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.valid() &&
         write(fd.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size());
}

}  // namespace bucketvol
