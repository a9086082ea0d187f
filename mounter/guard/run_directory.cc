#include "mounter/guard/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "mounter/guard/channel.h"

namespace bucketvol {
namespace {

// Whoever looks for directories of dead guards holds a lock for microseconds only.
constexpr int kAttempts = 20;
constexpr timespec kPause{0, 5'000'000};

std::string LockIn(const std::string& path) { return path + "/lock"; }

bool IsTheFileAt(const UniqueFd& fd, const std::string& path) {
  struct stat open_file;
  struct stat named;
  return fstat(fd.get(), &open_file) == 0 && stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

bool TryLock(const UniqueFd& lock) { return flock(lock.get(), LOCK_EX | LOCK_NB) == 0; }

bool LockSoon(const UniqueFd& lock) {
  for (int attempt = 1; attempt < kAttempts && !TryLock(lock); ++attempt) nanosleep(&kPause, nullptr);
  return TryLock(lock);
}

Outcome<UniqueFd> TakeLock(const std::string& path) {
  while (true) {
    RETURN_IF_FAILED(MakePrivateDirectory(path));
    UniqueFd lock(open(LockIn(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.valid() && errno == ENOENT) continue;  // Its last owner was just removing the directory.
    if (!lock.valid()) return SystemFailure(errno, "open " + LockIn(path));
    if (!LockSoon(lock)) return Failure{EBUSY, "mount point is busy: another guard holds " + path};
    if (IsTheFileAt(lock, LockIn(path))) return lock;
  }
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

Outcome<RunDirectory> RunDirectory::Claim(const std::string& path) {
  ASSIGN_OR_FAIL(UniqueFd lock, TakeLock(path));
  auto listener = ListenAt(SocketIn(path));
  RunDirectory directory(path, std::move(lock), listener.ok() ? std::move(listener.value()) : UniqueFd());
  if (!listener.ok()) return std::move(listener.failure());
  return directory;
}

void RunDirectory::RemoveStale(const std::string& path) {
  UniqueFd lock(open(LockIn(path).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  // The lock is made first and removed last: without it there is nothing else.
  if (!lock.valid() && errno == ENOENT) rmdir(path.c_str());
  if (!lock.valid() || !TryLock(lock) || !IsTheFileAt(lock, LockIn(path))) return;
  const RunDirectory stale(path, std::move(lock), UniqueFd());
}

RunDirectory::~RunDirectory() {
  if (!lock_.valid()) return;
  unlink(SocketIn(path_).c_str());
  unlink(LogPath().c_str());
  unlink(LockIn(path_).c_str());
  rmdir(path_.c_str());
}

Step RunDirectory::RedirectErrors() {
  log_ = UniqueFd(open(LogPath().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!log_.valid()) return SystemFailure(errno, "open " + LogPath());
  if (dup2(log_.get(), STDERR_FILENO) < 0) return SystemFailure(errno, "redirect the log");
  return Nothing{};
}

void RunDirectory::BoundLog(uint64_t limit) {
  struct stat info;
  if (!log_.valid() || fstat(log_.get(), &info) != 0 || static_cast<uint64_t>(info.st_size) <= limit) return;
  // Appending writers go on at the new end.
  if (ftruncate(log_.get(), 0) != 0) return;
}

}  // namespace bucketvol
