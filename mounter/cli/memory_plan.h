#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// How much memory a worker may use, and how much of that for data.
struct MemoryPlan {
  uint64_t limit = 0;   // Of the worker, from resourceLimit or its cgroup, whichever is less; 0: none.
  uint64_t budget = 0;  // For blocks of data.
};

/// The budget is what the option `memory_budget` says, else half of the limit; at most the limit without an
/// eighth of it, or without 64 MiB if that is more, which the rest of the program needs. Where there is no
/// limit it is a quarter of the machine's memory, at least 128 MiB and at most 4 GiB: what is unused is given
/// back after some seconds. `cgroup_limit`: 0 for none.
MemoryPlan PlanMemory(const VolumeOptions& options, uint64_t cgroup_limit, uint64_t machine_memory);

/// The least memory limit of this process's cgroup and those above it; 0 when there is none. `root`: where
/// /proc and /sys are found, "" but in tests.
uint64_t ReadCgroupMemoryLimit(const std::string& root);

}  // namespace bucketvol
