#include "mounter/guard/run_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "mounter/guard/channel.h"

namespace bucketvol {
namespace {

std::string LockIn(const std::string& path) { return path + "/lock"; }

}  // namespace

Outcome<RunDirectory> RunDirectory::Claim(const std::string& path) {
  ASSIGN_OR_FAIL(LockFile lock, LockFile::Take(LockIn(path)));
  auto listener = ListenAt(SocketIn(path));
  RunDirectory directory(path, std::move(lock), listener.ok() ? std::move(listener.value()) : UniqueFd());
  if (!listener.ok()) return std::move(listener.failure());
  return directory;
}

void RunDirectory::RemoveStale(const std::string& path) {
  // The lock is made first and removed last: without it there is nothing else.
  if (access(LockIn(path).c_str(), F_OK) != 0 && errno == ENOENT) rmdir(path.c_str());
  auto lock = LockFile::TakeStale(LockIn(path));
  if (lock) const RunDirectory stale(path, std::move(*lock), UniqueFd());
}

RunDirectory::~RunDirectory() {
  if (!lock_.held()) return;
  unlink(SocketIn(path_).c_str());  // Before the claims: who has neither is on its way out.
  unlink(LogPath().c_str());
  for (const char* name : kClaimsFiles) unlink((path_ + name).c_str());
  lock_.Remove();
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
