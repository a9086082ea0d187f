#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/cgroup/held_cgroup.h"
#include "mounter/cgroup/hierarchy.h"
#include "mounter/cgroup/node_capacity.h"
#include "mounter/cgroup/usage.h"

namespace bucketvol {

/// The cgroups of this program on a node, at the root of the hierarchies and so outside any caller's:
///
///   bucketvol/            all of it; its total can be capped
///   bucketvol/guards/     every guard, without a limit of its own: a volume that runs out of memory must not
///                         take the guard with it (and version 2 allows no process in a cgroup with children)
///   bucketvol/NAME/       the worker of one volume, with its limits
///
/// Knows version 1, version 2, and both side by side: each controller is taken where the machine has it. Not
/// thread-safe; any number of processes may use the same tree.
class CgroupTree {
 public:
  /// What guards leave behind them when they move: the hierarchies that limit, or all (for a caller whose end
  /// would end everything in its cgroups).
  enum class Scope { kLimits, kEverything };

  /// Finds the hierarchies in a text in the form of /proc/self/mountinfo. FailedPrecondition: one of the
  /// controllers cpu and memory is not there.
  static absl::StatusOr<CgroupTree> Open(absl::string_view mountinfo);

  /// Caps everything together; nullopt lifts the cap. It lasts as long as there is anything below: to be
  /// called while a cgroup is held. ResourceExhausted: more is in use than the kernel can take back.
  absl::Status LimitTotal(std::optional<uint64_t> memory_bytes) const;

  /// Makes the cgroup of a volume in the place of a leftover of that name, and sets its limits. Whatever was
  /// made is removed again after an error. Errors say what is missing.
  absl::StatusOr<HeldCgroup> Create(const std::string& name, const CgroupLimits& limits) const;

  /// The cgroup of guards, made where it is missing. To be held until the guard is in it.
  absl::StatusOr<HeldCgroup> HoldGuards(Scope scope) const;

  /// Where the cgroup of a volume is, whether it exists or not.
  std::vector<std::string> DirectoriesOf(const std::string& name) const;

  /// Where the cgroup of the volume is that a process is in, as its /proc/PID/cgroup (cgroups(7)) tells.
  /// Empty: in none.
  std::vector<std::string> DirectoriesOfProcess(absl::string_view proc_cgroup) const;

  /// Removes the cgroups of volumes that nobody holds, and then those above them if nothing is left.
  void Collect() const;

 private:
  explicit CgroupTree(std::vector<CgroupHierarchy> hierarchies) : hierarchies_(std::move(hierarchies)) {}

  /// Makes bucketvol/ in a hierarchy; its children can be limited then.
  absl::Status Prepare(const CgroupHierarchy& hierarchy) const;
  absl::Status Make(const CgroupHierarchy& hierarchy, const std::string& name) const;
  absl::StatusOr<HeldCgroup> MakeAndHold(const std::string& name, Scope scope) const;
  absl::Status Limit(const std::string& name, const CgroupLimits& limits) const;

  std::vector<CgroupHierarchy> hierarchies_;
};

}  // namespace bucketvol
