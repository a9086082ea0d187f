#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "mounter/cache/node_share.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// How much memory a worker may use, and how much of that for data.
struct MemoryPlan {
  uint64_t limit = 0;      // Of the worker, from resourceLimit or its cgroup, whichever is less; 0: none.
  uint64_t budget = 0;     // For blocks of data.
  NodeShareSettings node;  // And how much with the other mounts of the node.
};

/// The cgroup that limits this process most.
struct CgroupMemory {
  uint64_t limit = 0;  // 0: none does.
  uint64_t id = 0;     // The same for all processes that it limits; never 0 with a limit.
};

/// The budget is what the option `memory_budget` says, else half of the limit; at most the limit without an
/// eighth of it, or without 64 MiB if that is more, which the rest of the program needs. Where there is no
/// limit it is a quarter of the machine's memory, at least 128 MiB and at most 4 GiB: what is unused is given
/// back after some seconds.
///
/// All mounts together may hold what the option `node_memory_budget` says, else half of the machine's memory,
/// or of the limit of the cgroup that the mount shares with others. A budget that was asked for, by
/// `memory_budget` or `resourceLimit`, is firm.
MemoryPlan PlanMemory(const VolumeOptions& options, const CgroupMemory& cgroup, uint64_t machine_memory);

/// The least memory limit of this process's cgroup and those above it. `root`: where /proc and /sys are
/// found, "" but in tests.
CgroupMemory ReadCgroupMemory(const std::string& root);

}  // namespace bucketvol
