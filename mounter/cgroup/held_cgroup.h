#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// A cgroup that somebody uses: one directory in each hierarchy that it spans, locked so that nobody takes it
/// for a leftover (CgroupTree::Collect). The kernel drops the locks when the last holder ends, however it
/// ends.
///
/// Used by the guard, which has no abseil; failures are errno values. Not thread-safe. An empty one stands
/// for "no cgroup": entering and removing it does nothing.
class HeldCgroup {
 public:
  HeldCgroup() = default;

  /// Locks `directories`, several holders at a time. ENOENT: one of them is gone. `out` is untouched then.
  static int Hold(std::vector<std::string> directories, HeldCgroup& out);

  /// Moves the calling process. Safe between fork and exec of a process without threads.
  int Enter() const;

  /// Removes the directories that hold no process any more. False: something is left, for Collect to remove.
  bool Remove() const;

  const std::vector<std::string>& directories() const { return directories_; }

 private:
  std::vector<std::string> directories_;
  std::vector<UniqueFd> locks_;
};

/// Moves the calling process into the cgroup of these directories. Returns an errno, 0 when done.
int EnterCgroup(const std::vector<std::string>& directories);

/// Directories as one text and back, for a message. A path of a cgroup holds no line break.
std::string JoinDirectories(const std::vector<std::string>& directories);
std::vector<std::string> SplitDirectories(std::string_view text);

}  // namespace bucketvol
