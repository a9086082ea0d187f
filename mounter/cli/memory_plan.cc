#include "mounter/cli/memory_plan.h"

#include <sys/stat.h>

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

/// Takes the least limit from `group` up to the root of its hierarchy, if what was found is not less; of
/// equal ones that of the outermost, which binds the most processes.
void LookAlong(const std::string& mount, absl::string_view group, absl::string_view file,
               CgroupMemory& found) {
  while (true) {
    const std::string directory = absl::StrCat(mount, group);
    const uint64_t limit = ReadControlNumber(absl::StrCat(directory, "/", file)).value_or(0);
    struct stat info;
    // The number of its inode is what a cgroup is known by in every cgroup namespace.
    if (limit > 0 && Least(limit, found.limit) == limit && stat(directory.c_str(), &info) == 0)
      found = {limit, info.st_ino};
    if (group.empty() || group == "/") return;
    group = group.substr(0, group.rfind('/'));
  }
}

NodeShareSettings PlanNode(const VolumeOptions& options, const CgroupMemory& cgroup,
                           uint64_t machine_memory) {
  // The cgroup of a resourceLimit is shared with nobody.
  const bool limited = !options.resource_limit && cgroup.limit > 0 && cgroup.limit < machine_memory;
  NodeShareSettings node;
  node.total_bytes = options.node_memory_budget > 0 ? options.node_memory_budget
                                                    : (limited ? cgroup.limit : machine_memory) / 2;
  node.scope = limited ? cgroup.id : 0;
  if (options.resource_limit || options.memory_budget > 0) node.claim = NodeLedger::Claim::kFirm;
  return node;
}

}  // namespace

MemoryPlan PlanMemory(const VolumeOptions& options, const CgroupMemory& cgroup, uint64_t machine_memory) {
  MemoryPlan plan;
  plan.node = PlanNode(options, cgroup, machine_memory);
  plan.limit = Least(cgroup.limit, options.resource_limit ? options.resource_limit->memory_bytes : 0);
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
CgroupMemory ReadCgroupMemory(const std::string& root) {
  const std::string text = ReadControlFile(absl::StrCat(root, "/proc/self/cgroup"));
  const std::string base = absl::StrCat(root, "/sys/fs/cgroup");
  CgroupMemory found;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (fields[1].empty()) {
      LookAlong(base, fields[2], "memory.max", found);
    } else if (fields[1] == "memory" || absl::StartsWith(fields[1], "memory,")) {
      LookAlong(absl::StrCat(base, "/memory"), fields[2], "memory.limit_in_bytes", found);
    }
  }
  return found;
}

}  // namespace bucketvol
