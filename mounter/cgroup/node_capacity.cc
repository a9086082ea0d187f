#include "mounter/cgroup/node_capacity.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace bucketvol {
namespace {

constexpr double kGiB = 1 << 30;

uint64_t Configured(int name) { return static_cast<uint64_t>(std::max(sysconf(name), 1L)); }

}  // namespace

CgroupLimits NodeCapacity() {
  return {static_cast<uint32_t>(Configured(_SC_NPROCESSORS_ONLN) * 1000),
          Configured(_SC_PHYS_PAGES) * Configured(_SC_PAGESIZE)};
}

void ClampMemory(absl::string_view option, const CgroupLimits& node, uint64_t& bytes,
                 std::vector<std::string>& warnings) {
  if (bytes <= node.memory_bytes) return;
  warnings.push_back(absl::StrFormat("%s asks for more memory than the node has: %.1f GiB, it has %.1f",
                                     option, static_cast<double>(bytes) / kGiB,
                                     static_cast<double>(node.memory_bytes) / kGiB));
  bytes = node.memory_bytes;
}

std::vector<std::string> ClampToNode(const CgroupLimits& node, CgroupLimits& limits) {
  std::vector<std::string> warnings;
  if (limits.milli_cpus > node.milli_cpus) {
    warnings.push_back(absl::StrCat("resourceLimit asks for more processors than the node has: ",
                                    limits.milli_cpus / 1000.0, ", it has ", node.milli_cpus / 1000.0));
    limits.milli_cpus = node.milli_cpus;
  }
  ClampMemory("resourceLimit", node, limits.memory_bytes, warnings);
  return warnings;
}

}  // namespace bucketvol
