#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bucketvol {

/// What a cgroup has used. Zero where the kernel does not tell.
struct CgroupUsage {
  uint64_t memory_limit = 0;  // 0: none.
  uint64_t memory_used = 0;   // With the page cache that is charged to it.
  uint64_t memory_peak = 0;
  uint64_t memory_kills = 0;     // Processes that the kernel killed at the limit.
  uint64_t cpu_limit_milli = 0;  // 0: none.
  uint64_t cpu_usec = 0;
  uint64_t throttled_usec = 0;  // Time in which it could have run but for the limit.
};

/// Reads the control files of a cgroup's directories (HeldCgroup::directories), of either version.
CgroupUsage ReadUsage(const std::vector<std::string>& directories);

}  // namespace bucketvol
