#pragma once

#include <string>

#include "mounter/base/unique_fd.h"
#include "mounter/guard/claims.h"
#include "mounter/guard/lock_file.h"
#include "mounter/guard/outcome.h"

namespace bucketvol {

/// What a guard keeps on disk while it runs: a directory of its own with its control socket, its claims, its
/// log, and a lock that says that it lives. The destructor removes all of it.
class RunDirectory {
 public:
  /// `path`: made if missing, mode 0700. A directory that a dead guard left is taken over.
  /// A Failure with EBUSY: a live guard has it.
  static Outcome<RunDirectory> Claim(const std::string& path);

  /// Removes what a dead guard left at `path`. Leaves alone what a live one has, and what is none of a
  /// guard's.
  static void RemoveStale(const std::string& path);

  RunDirectory(RunDirectory&&) = default;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  /// Tells what the guard owns.
  Step Tell(const Claims& claims) const { return WriteClaims(path_, claims); }

  /// The socket's path for clients.
  static std::string SocketIn(const std::string& path) { return path + "/control"; }
  const UniqueFd& listener() const { return listener_; }

  /// Makes the log the standard error of this process and its children.
  Step RedirectErrors();
  /// Cuts the log when it has grown beyond `limit` bytes: a flood must not fill a tmpfs.
  void BoundLog(uint64_t limit);

 private:
  RunDirectory(std::string path, LockFile lock, UniqueFd listener)
      : path_(std::move(path)), lock_(std::move(lock)), listener_(std::move(listener)) {}
  std::string LogPath() const { return path_ + "/log"; }

  std::string path_;
  LockFile lock_;
  UniqueFd listener_;
  UniqueFd log_;
};

}  // namespace bucketvol
