#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bucketvol {

/// What the worker of one volume may use.
struct CgroupLimits {
  uint32_t milli_cpus = 0;  // Thousandths of a core.
  uint64_t memory_bytes = 0;

  friend bool operator==(const CgroupLimits&, const CgroupLimits&) = default;
};

/// The processors and the memory of this machine.
CgroupLimits NodeCapacity();

/// Lowers what `option` asks for to the memory of the node. Appends a line for the user if it did.
void ClampMemory(absl::string_view option, const CgroupLimits& node, uint64_t& bytes,
                 std::vector<std::string>& warnings);

/// Lowers what is above the node. One line for the user about each limit that it lowered.
std::vector<std::string> ClampToNode(const CgroupLimits& node, CgroupLimits& limits);

}  // namespace bucketvol
