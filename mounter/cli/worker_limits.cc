#include "mounter/cli/worker_limits.h"

#include <random>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mounter/base/status_macros.h"
#include "mounter/cgroup/cgroup_tree.h"
#include "mounter/guard/small_file.h"

namespace bucketvol {
namespace {

constexpr size_t kMountTableLimit = 16 << 20;
constexpr size_t kShownName = 60;

absl::StatusOr<CgroupTree> OpenTree() {
  return CgroupTree::Open(ReadSmallFile("/proc/self/mountinfo", kMountTableLimit));
}

// The mount point, for who looks at the tree, and what makes it unique among the mount namespaces of a node.
std::string CgroupName(const std::string& mount_point) {
  std::string name = mount_point.substr(0, kShownName);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '-';
  }
  std::random_device random;
  absl::StrAppendFormat(&name, "-%08x", random());
  return name.substr(name.find_first_not_of('-'));
}

// Without a limit of its own a worker may have all that the node's workers may have together.
CgroupLimits LimitsOf(const VolumeOptions& options) {
  if (options.resource_limit)
    return {options.resource_limit->milli_cpus, options.resource_limit->memory_bytes};
  return {NodeCapacity().milli_cpus, options.node_memory_limit};
}

}  // namespace

void ClampLimits(VolumeOptions& options) {
  const CgroupLimits node = NodeCapacity();
  ClampMemory("node_memory_limit", node, options.node_memory_limit, options.warnings);
  if (!options.resource_limit) return;
  CgroupLimits limits{options.resource_limit->milli_cpus, options.resource_limit->memory_bytes};
  for (std::string& warning : ClampToNode(node, limits)) options.warnings.push_back(std::move(warning));
  options.resource_limit = ResourceLimit{limits.milli_cpus, limits.memory_bytes};
}

absl::StatusOr<MountCgroups> MakeMountCgroups(const VolumeOptions& options, const std::string& mount_point) {
  MountCgroups cgroups;
  CollectCgroups();
  if (!options.resource_limit && options.node_memory_limit == 0) return cgroups;
  ASSIGN_OR_RETURN(const CgroupTree tree, OpenTree());
  ASSIGN_OR_RETURN(cgroups.guard, tree.HoldGuards(CgroupTree::Scope::kLimits));
  if (options.node_memory_limit > 0) RETURN_IF_ERROR(tree.LimitTotal(options.node_memory_limit));
  ASSIGN_OR_RETURN(cgroups.worker, tree.Create(CgroupName(mount_point), LimitsOf(options)));
  return cgroups;
}

void CollectCgroups() {
  if (const auto tree = OpenTree(); tree.ok()) tree->Collect();
}

CgroupUsage UsageOfWorker(pid_t worker) {
  const auto tree = OpenTree();
  if (worker <= 0 || !tree.ok()) return {};
  return ReadUsage(tree->DirectoriesOfProcess(ReadSmallFile(absl::StrCat("/proc/", worker, "/cgroup"))));
}

}  // namespace bucketvol
