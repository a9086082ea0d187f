#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bucketvol::testing {

struct ErofsNode {
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t links = 0;
  uint64_t size = 0;
  int64_t mtime_seconds = 0;
  uint32_t mtime_nanoseconds = 0;
  uint64_t nid = 0;
  // Where a file's first byte lies. Only for files that are not empty.
  int device = -1;  // In the device table, from 0.
  uint64_t device_block = 0;
  std::map<std::string, ErofsNode> children;

  bool directory() const { return (mode & 0170000) == 0040000; }
};

struct ErofsImage {
  ErofsNode root;
  uint64_t inodes = 0;
  uint32_t feature_incompat = 0;
  std::string uuid;
};

/// Reads an EROFS image by the kernel's rules, with code of its own, and checks more than the kernel does:
/// superblock checksum, order of names over whole directories, "." and "..", entry types, bytes behind names,
/// extents within devices and apart from each other. An error says what is wrong.
absl::StatusOr<ErofsImage> ReadErofsImage(const std::string& path);

}  // namespace bucketvol::testing
