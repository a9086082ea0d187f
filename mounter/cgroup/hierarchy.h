#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bucketvol {

enum class CgroupVersion { kV1, kV2 };

/// One mounted cgroup hierarchy. A machine has one of version 2, several of version 1, or both (hybrid).
struct CgroupHierarchy {
  CgroupVersion version = CgroupVersion::kV2;
  std::string mount_point;
  std::vector<std::string> controllers;  // "cpu", "memory", …; "name=systemd" and the like among them.

  bool Has(absl::string_view controller) const;
};

/// The hierarchies that a text in the form of /proc/self/mountinfo (proc(5)) shows, in its order, each
/// hierarchy of version 1 once. The controllers of version 2 are not in it: see ReadControllers.
std::vector<CgroupHierarchy> ParseHierarchies(absl::string_view mountinfo);

/// Fills the controllers of the hierarchies of version 2 from their cgroup.controllers.
void ReadControllers(std::vector<CgroupHierarchy>& hierarchies);

}  // namespace bucketvol
