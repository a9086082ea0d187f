#include "mounter/cgroup/cgroup_tree.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/base/directory_lock.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/status_macros.h"
#include "mounter/cgroup/control_file.h"

namespace bucketvol {
namespace {

constexpr char kParent[] = "bucketvol";
constexpr char kGuards[] = "guards";
// The controllers that a volume's cgroup spans where they are; the first two must be.
constexpr absl::string_view kNeeded[] = {"cpu", "memory"};
constexpr absl::string_view kAccounting = "cpuacct";
// The kernel's own default. A shorter one stops the worker for shorter times but hands out less than the
// quota.
constexpr uint64_t kPeriodUsec = 100'000;
// The kernel's smallest quota.
constexpr uint64_t kLeastQuotaUsec = 1'000;
// More often than that nobody removes what has just been made.
constexpr int kAttempts = 10;

bool Limits(const CgroupHierarchy& hierarchy) {
  return hierarchy.Has(kNeeded[0]) || hierarchy.Has(kNeeded[1]) || hierarchy.Has(kAccounting);
}

std::string ParentIn(const CgroupHierarchy& hierarchy) {
  return absl::StrCat(hierarchy.mount_point, "/", kParent);
}

std::string DirectoryIn(const CgroupHierarchy& hierarchy, const std::string& name) {
  return absl::StrCat(ParentIn(hierarchy), "/", name);
}

absl::Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return absl::OkStatus();
  return ErrnoToStatus(errno, absl::StrCat("make cgroup ", path));
}

// Controllers reach the children of a cgroup of version 2 when it says so.
absl::Status PassDown(const CgroupHierarchy& hierarchy, const std::string& directory) {
  for (const absl::string_view controller : kNeeded) {
    if (!hierarchy.Has(controller)) continue;
    RETURN_IF_ERROR(WriteControlFile(directory + "/cgroup.subtree_control", absl::StrCat("+", controller)));
  }
  return absl::OkStatus();
}

// A cpuset of version 1 begins empty, and takes no process until it has processors and memory nodes.
absl::Status FillCpuset(const CgroupHierarchy& hierarchy, const std::string& from, const std::string& to) {
  if (hierarchy.version != CgroupVersion::kV1 || !hierarchy.Has("cpuset")) return absl::OkStatus();
  for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
    if (!ReadControlFile(to + file).empty()) continue;
    RETURN_IF_ERROR(WriteControlFile(to + file, ReadControlFile(from + file)));
  }
  return absl::OkStatus();
}

absl::Status LimitMemory(CgroupVersion version, const std::string& directory, std::optional<uint64_t> bytes) {
  if (version == CgroupVersion::kV2)
    return WriteControlFile(directory + "/memory.max", bytes ? absl::StrCat(*bytes) : "max");
  return WriteControlFile(directory + "/memory.limit_in_bytes", bytes ? absl::StrCat(*bytes) : "-1");
}

absl::Status LimitCpu(CgroupVersion version, const std::string& directory, uint64_t milli_cpus) {
  const uint64_t quota = std::max(milli_cpus * kPeriodUsec / 1000, kLeastQuotaUsec);
  if (version == CgroupVersion::kV2)
    return WriteControlFile(directory + "/cpu.max", absl::StrCat(quota, " ", kPeriodUsec));
  RETURN_IF_ERROR(WriteControlFile(directory + "/cpu.cfs_period_us", absl::StrCat(kPeriodUsec)));
  return WriteControlFile(directory + "/cpu.cfs_quota_us", absl::StrCat(quota));
}

// A cgroup competes with its siblings as one: with the weight of one process it would starve. The kernel's
// default weights (1024 and 100) are taken as one core's. Worth a try only: nothing is wrong without.
void WeighCpu(CgroupVersion version, const std::string& directory, uint64_t milli_cpus) {
  if (version == CgroupVersion::kV2) {
    const uint64_t weight = std::clamp<uint64_t>(milli_cpus / 10, 1, 10'000);
    (void)WriteControlFile(directory + "/cpu.weight", absl::StrCat(weight)).ok();
  } else {
    const uint64_t shares = std::max<uint64_t>(milli_cpus * 1024 / 1000, 2);
    (void)WriteControlFile(directory + "/cpu.shares", absl::StrCat(shares)).ok();
  }
}

// Removes a cgroup that nobody holds and that is empty.
void RemoveIfUnused(const std::string& directory) {
  const UniqueFd seized = SeizeDirectory(directory);
  if (seized.valid()) rmdir(directory.c_str());
}

std::vector<std::string> ChildrenOf(const std::string& directory) {
  std::vector<std::string> children;
  DIR* entries = opendir(directory.c_str());
  if (entries == nullptr) return children;
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..")
      children.push_back(absl::StrCat(directory, "/", name));
  }
  closedir(entries);
  return children;
}

// Tries again where somebody else removed what was just being made.
template <typename Work>
absl::StatusOr<HeldCgroup> Persist(const Work& work) {
  absl::StatusOr<HeldCgroup> result = work();
  for (int attempt = 1; attempt < kAttempts && absl::IsNotFound(result.status()); ++attempt) result = work();
  return result;
}

absl::Status Explain(const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("resourceLimit and node_memory_limit need cgroups that can be written "
                                   "(run as root, with the host's /sys/fs/cgroup): ",
                                   status.message()));
}

}  // namespace

absl::StatusOr<CgroupTree> CgroupTree::Open(absl::string_view mountinfo) {
  std::vector<CgroupHierarchy> hierarchies = ParseHierarchies(mountinfo);
  ReadControllers(hierarchies);
  for (const absl::string_view controller : kNeeded) {
    const auto has = [&](const CgroupHierarchy& hierarchy) { return hierarchy.Has(controller); };
    if (std::none_of(hierarchies.begin(), hierarchies.end(), has)) {
      return absl::FailedPreconditionError(
          absl::StrCat("resourceLimit and node_memory_limit need the cgroup controller \"", controller,
                       "\", and no mounted hierarchy has it (see /proc/self/mountinfo)"));
    }
  }
  return CgroupTree(std::move(hierarchies));
}

absl::Status CgroupTree::Prepare(const CgroupHierarchy& hierarchy) const {
  const std::string parent = ParentIn(hierarchy);
  if (hierarchy.version == CgroupVersion::kV2) RETURN_IF_ERROR(PassDown(hierarchy, hierarchy.mount_point));
  RETURN_IF_ERROR(MakeDirectory(parent));
  if (hierarchy.version == CgroupVersion::kV2) RETURN_IF_ERROR(PassDown(hierarchy, parent));
  if (hierarchy.Has("cpu")) WeighCpu(hierarchy.version, parent, NodeCapacity().milli_cpus);
  return FillCpuset(hierarchy, hierarchy.mount_point, parent);
}

absl::Status CgroupTree::LimitTotal(std::optional<uint64_t> memory_bytes) const {
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    if (!hierarchy.Has("memory")) continue;
    RETURN_IF_ERROR(Explain(Prepare(hierarchy)));
    const absl::Status limited = LimitMemory(hierarchy.version, ParentIn(hierarchy), memory_bytes);
    // Version 1 refuses what it cannot reach by taking back page cache; version 2 kills.
    if (absl::IsUnavailable(limited)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "node_memory_limit is less than what the mounts of this node hold; unmount some, or ask for more: ",
          limited.message()));
    }
    RETURN_IF_ERROR(Explain(limited));
  }
  return absl::OkStatus();
}

absl::Status CgroupTree::Make(const CgroupHierarchy& hierarchy, const std::string& name) const {
  RETURN_IF_ERROR(Prepare(hierarchy));
  const std::string directory = DirectoryIn(hierarchy, name);
  RETURN_IF_ERROR(MakeDirectory(directory));
  return FillCpuset(hierarchy, ParentIn(hierarchy), directory);
}

absl::StatusOr<HeldCgroup> CgroupTree::MakeAndHold(const std::string& name, Scope scope) const {
  std::vector<std::string> directories;
  absl::Cleanup remove = [&] {
    for (const std::string& directory : directories) RemoveIfUnused(directory);
  };
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    if (scope == Scope::kLimits && !Limits(hierarchy)) continue;
    RETURN_IF_ERROR(Make(hierarchy, name));
    directories.push_back(DirectoryIn(hierarchy, name));
  }
  HeldCgroup cgroup;
  if (const int error = HeldCgroup::Hold(directories, cgroup)) return ErrnoToStatus(error, "hold the cgroup");
  std::move(remove).Cancel();
  return cgroup;
}

absl::Status CgroupTree::Limit(const std::string& name, const CgroupLimits& limits) const {
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    const std::string directory = DirectoryIn(hierarchy, name);
    if (hierarchy.Has("memory"))
      RETURN_IF_ERROR(LimitMemory(hierarchy.version, directory, limits.memory_bytes));
    if (!hierarchy.Has("cpu")) continue;
    WeighCpu(hierarchy.version, directory, limits.milli_cpus);
    RETURN_IF_ERROR(LimitCpu(hierarchy.version, directory, limits.milli_cpus));
  }
  return absl::OkStatus();
}

absl::StatusOr<HeldCgroup> CgroupTree::Create(const std::string& name, const CgroupLimits& limits) const {
  for (const std::string& directory : DirectoriesOf(name)) RemoveIfUnused(directory);
  auto cgroup = Persist([&] { return MakeAndHold(name, Scope::kLimits); });
  if (!cgroup.ok()) return Explain(cgroup.status());
  absl::Cleanup remove = [&] { cgroup->Remove(); };
  RETURN_IF_ERROR(Explain(Limit(name, limits)));
  std::move(remove).Cancel();
  return cgroup;
}

absl::StatusOr<HeldCgroup> CgroupTree::HoldGuards(Scope scope) const {
  auto cgroup = Persist([&] { return MakeAndHold(kGuards, scope); });
  if (!cgroup.ok()) return Explain(cgroup.status());
  return cgroup;
}

std::vector<std::string> CgroupTree::DirectoriesOf(const std::string& name) const {
  std::vector<std::string> directories;
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    if (Limits(hierarchy)) directories.push_back(DirectoryIn(hierarchy, name));
  }
  return directories;
}

std::vector<std::string> CgroupTree::DirectoriesOfProcess(absl::string_view proc_cgroup) const {
  const std::string below = absl::StrCat("/", kParent, "/");
  for (const absl::string_view line : absl::StrSplit(proc_cgroup, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() == 3 && absl::StartsWith(fields[2], below)) {
      return DirectoriesOf(std::string(fields[2].substr(below.size())));
    }
  }
  return {};
}

void CgroupTree::Collect() const {
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    for (const std::string& child : ChildrenOf(ParentIn(hierarchy))) RemoveIfUnused(child);
    rmdir(ParentIn(hierarchy).c_str());
  }
}

}  // namespace bucketvol
