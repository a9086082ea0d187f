#pragma once

#include <string>
#include <utility>

namespace bucketvol {

/// Owns a file descriptor and closes it. Not thread-safe; a negative value means none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  /// Gives the descriptor away without closing it.
  int Release() { return std::exchange(fd_, -1); }
  /// Closes the descriptor, if any. Keeps errno.
  void Reset();

 private:
  int fd_ = -1;
};

/// Whether `path` names the very file that is open: a lock on one that was removed or replaced locks nothing.
bool IsTheFileAt(const UniqueFd& fd, const std::string& path);

}  // namespace bucketvol
