#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "test/bucketd/inotify_hub.h"

namespace bucketvol::bucketd {

/// Learns from the kernel what changes under a directory. Directories are named by their path relative to the
/// top, without slashes at the ends; the top is "". Not thread-safe.
class DirectoryWatch {
 public:
  enum class Change {
    kFile,       // The file of that path came, went or changed.
    kDirectory,  // The directory of that path came or went.
    kUnknown,    // Events were lost: anything may have changed.
  };

  DirectoryWatch(std::string top, std::shared_ptr<InotifyHub> hub);
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;
  ~DirectoryWatch();

  /// Watches one directory, not those below it. False when the kernel will watch no more.
  bool Add(const std::string& relative);
  /// Stops to watch the directory and all below it.
  void Remove(const std::string& relative);
  /// Shows what happened since the last call; never waits. `on_change` may call Add and Remove.
  void Drain(absl::FunctionRef<void(Change, const std::string&)> on_change);

 private:
  void Forget(int watch);

  const std::string top_;
  const std::shared_ptr<InotifyHub> hub_;
  std::unordered_map<int, std::string> path_of_;
  std::map<std::string, int> watch_of_;
};

}  // namespace bucketvol::bucketd
