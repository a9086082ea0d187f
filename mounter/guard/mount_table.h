#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bucketvol {

/// One line of /proc/self/mountinfo.
struct MountEntry {
  uint64_t id = 0;
  dev_t device = 0;
  std::string mount_point;
  std::string type;    // "erofs"
  std::string source;  // "/dev/loop3"
};

/// Parses the text of a mountinfo file; lines it does not understand are left out. Octal escapes are undone.
std::vector<MountEntry> ParseMountInfo(std::string_view text);

/// The mounts of this process's namespace, in the order in which they were made.
std::vector<MountEntry> ReadMountTable();

/// The mount that a path lookup of `mount_point` reaches: the last one there.
std::optional<MountEntry> TopMountAt(const std::vector<MountEntry>& table, std::string_view mount_point);

/// The mount with an id.
std::optional<MountEntry> MountWithId(const std::vector<MountEntry>& table, uint64_t id);

}  // namespace bucketvol
