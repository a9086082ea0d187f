#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bucketvol {

/// The absolute path of a mount point without symbolic links. A path that cannot be resolved (a broken mount
/// below it, or nothing there) is made absolute by its text.
std::string ResolveMountPoint(const std::string& path);

/// Whether what one sees at `path` is a mount of ours.
bool IsImageMountedAt(const std::string& path);

/// Makes sure that something can be mounted at `path` (as resolved): a directory that holds no mount of ours
/// yet.
absl::Status CheckMountPoint(const std::string& path);

/// Removes from `run_dir` what guards that are dead have left there. A log stays as long as one of the mounts
/// whose guard wrote it.
void CollectRunDirectories(const std::string& run_dir);

/// Where a new guard may keep its files, below `run_dir`: a place of its own.
std::string NewRunDirectory(const std::string& run_dir);

/// An EROFS mount at a mount point that was made by this program, live or left behind.
struct ImageMount {
  std::string mount_point;
  std::string index_directory;
  std::string transport;  // "loop" or "file"
};

/// Every mount of ours in this namespace, topmost at its path only.
std::vector<ImageMount> FindImageMounts();

}  // namespace bucketvol
