#include "mounter/guard/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace bucketvol {
namespace {

// Whoever looks for files of the dead holds a lock for microseconds only.
constexpr int kAttempts = 20;
constexpr timespec kPause{0, 5'000'000};

bool TryLock(const UniqueFd& lock) { return flock(lock.get(), LOCK_EX | LOCK_NB) == 0; }

bool LockSoon(const UniqueFd& lock) {
  for (int attempt = 1; attempt < kAttempts && !TryLock(lock); ++attempt) nanosleep(&kPause, nullptr);
  return TryLock(lock);
}

}  // namespace

Step MakePrivateDirectory(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    if (mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST)
      return SystemFailure(errno, "make directory " + parent);
  }
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return SystemFailure(errno, "make directory " + path);
  return Nothing{};
}

Outcome<LockFile> LockFile::Take(const std::string& path) {
  while (true) {
    RETURN_IF_FAILED(MakePrivateDirectory(path.substr(0, path.rfind('/'))));
    UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid() && errno == ENOENT) continue;  // Its last owner was just removing the directory.
    if (!fd.valid()) return SystemFailure(errno, "open " + path);
    if (!LockSoon(fd)) return Failure{EBUSY, "busy: another process holds " + path};
    if (IsTheFileAt(fd, path)) return LockFile(path, std::move(fd));
  }
}

std::optional<LockFile> LockFile::TakeStale(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() || !TryLock(fd) || !IsTheFileAt(fd, path)) return std::nullopt;
  return LockFile(path, std::move(fd));
}

bool LockFile::IsHeld(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return fd.valid() && flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  if (this == &other) return *this;
  Remove();
  path_ = std::move(other.path_);
  fd_ = std::move(other.fd_);
  return *this;
}

void LockFile::Remove() {
  if (!fd_.valid()) return;
  unlink(path_.c_str());
  fd_.Reset();
}

}  // namespace bucketvol
