#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mounter/index/index_file.h"

namespace bucketvol {

struct SuperBlockFacts {
  uint64_t image_bytes = 0;
  uint64_t root_nid = 0;
  uint64_t inodes = 0;
  absl::Time build_time;
  std::string uuid;  // 16 bytes
  bool needs_48bit = false;
  std::vector<DataDevice> devices;
};

/// Makes block 0 of the image: superblock, device table, checksum.
std::string MakeFirstBlock(const SuperBlockFacts& facts);

}  // namespace bucketvol
