#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// A small file system in memory that shows parts of the real one at their own places, to become the root of
/// the process. Nothing of it is seen outside; until Enter nothing changes for the process but that its
/// mounts are its own.
class MountTree {
 public:
  /// Takes the process into a mount namespace of its own, from which nothing propagates.
  static absl::StatusOr<MountTree> Make();

  /// Shows what is at `path` (a directory without the mounts below it, or a file) at the same path.
  /// `attributes`: MOUNT_ATTR_… of mount_setattr(2). Parents before what is below them. NotFound: not there.
  absl::Status Show(const std::string& path, uint64_t attributes);
  /// Hides a file or directory that is shown, behind an empty one. Does nothing where there is none.
  absl::Status Hide(const std::string& path);
  /// Makes a symbolic link at `path`.
  absl::Status Link(const std::string& path, const std::string& target);
  /// Mounts a /proc in which only what the process may inspect is seen.
  absl::Status ShowProc();

  /// Makes the tree the root of the process, read-only, and drops everything else. The working directory is
  /// the root then.
  absl::Status Enter();

 private:
  explicit MountTree(UniqueFd root) : root_(std::move(root)) {}
  absl::Status MakePlace(const std::string& path, bool directory);
  absl::Status Attach(const UniqueFd& mount, const std::string& path);

  UniqueFd root_;
};

}  // namespace bucketvol
