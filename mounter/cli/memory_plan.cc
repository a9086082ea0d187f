#include "mounter/cli/memory_plan.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/cgroup/control_file.h"

namespace bucketvol {
namespace {

constexpr uint64_t kMiB = 1 << 20;

uint64_t Least(uint64_t a, uint64_t b) { return a == 0 || b == 0 ? a + b : std::min(a, b); }

/// The least limit from `group` up to the root of its hierarchy.
uint64_t LimitAlong(const std::string& mount, absl::string_view group, absl::string_view file) {
  uint64_t limit = 0;
  while (true) {
    limit = Least(limit, ReadControlNumber(absl::StrCat(mount, group, "/", file)).value_or(0));
    if (group.empty() || group == "/") return limit;
    group = group.substr(0, group.rfind('/'));
  }
}

}  // namespace

MemoryPlan PlanMemory(const VolumeOptions& options, uint64_t cgroup_limit, uint64_t machine_memory) {
  MemoryPlan plan;
  plan.limit = Least(cgroup_limit, options.resource_limit ? options.resource_limit->memory_bytes : 0);
  if (plan.limit == 0) {
    plan.budget = options.memory_budget > 0 ? options.memory_budget
                                            : std::clamp(machine_memory / 4, 128 * kMiB, 4096 * kMiB);
    return plan;
  }
  const uint64_t reserve = std::max(plan.limit / 8, 64 * kMiB);
  const uint64_t most = plan.limit > 2 * reserve ? plan.limit - reserve : plan.limit / 2;
  plan.budget = std::min(options.memory_budget > 0 ? options.memory_budget : plan.limit / 2, most);
  return plan;
}

// Lines of /proc/self/cgroup: "4:memory:/group" (version 1), "0::/group" (version 2).
uint64_t ReadCgroupMemoryLimit(const std::string& root) {
  const std::string text = ReadControlFile(absl::StrCat(root, "/proc/self/cgroup"));
  const std::string base = absl::StrCat(root, "/sys/fs/cgroup");
  uint64_t limit = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (fields[1].empty()) {
      limit = Least(limit, LimitAlong(base, fields[2], "memory.max"));
    } else if (fields[1] == "memory" || absl::StartsWith(fields[1], "memory,")) {
      limit = Least(limit, LimitAlong(absl::StrCat(base, "/memory"), fields[2], "memory.limit_in_bytes"));
    }
  }
  return limit;
}

}  // namespace bucketvol
