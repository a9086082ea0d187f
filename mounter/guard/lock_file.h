#pragma once

#include <optional>
#include <string>

#include "mounter/base/unique_fd.h"
#include "mounter/guard/outcome.h"

namespace bucketvol {

/// A file whose lock says that somebody owns what the file's name stands for.
///
/// The kernel releases the lock with the last descriptor, however its holder ends: a file without one means
/// nothing. The destructor removes the file before it unlocks it.
class LockFile {
 public:
  /// Makes and locks the file; makes its directory, mode 0700, where it is missing. A Failure with EBUSY:
  /// somebody has it.
  static Outcome<LockFile> Take(const std::string& path);
  /// Locks the file that a dead owner left; nullopt: there is none, or its owner lives.
  static std::optional<LockFile> TakeStale(const std::string& path);
  /// Whether somebody has it.
  static bool IsHeld(const std::string& path);

  LockFile(LockFile&& other) = default;
  LockFile& operator=(LockFile&& other) noexcept;
  ~LockFile() { Remove(); }

  /// Removes the file and unlocks it.
  void Remove();
  /// Whether it is still held: neither removed nor moved from.
  bool held() const { return fd_.valid(); }

 private:
  LockFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

/// Makes a directory and its missing parents, mode 0700 (0755 for parents).
Step MakePrivateDirectory(const std::string& path);

}  // namespace bucketvol
