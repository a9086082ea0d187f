#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace bucketvol {

inline constexpr uint64_t kLeastPartBytes = 1 << 20;

/// Makes the offsets of parts of an object ascending and leaves out what is less than a part behind the one
/// before: reads of small parts go on anyway. The last one stays.
inline std::vector<uint64_t> JoinSmallParts(std::vector<uint64_t> offsets) {
  std::sort(offsets.begin(), offsets.end());
  std::vector<uint64_t> kept;
  for (const uint64_t offset : offsets) {
    if (kept.empty() || offset - kept.back() >= kLeastPartBytes) kept.push_back(offset);
  }
  if (kept.size() > 1 && offsets.back() != kept.back()) kept.back() = offsets.back();
  return kept;
}

}  // namespace bucketvol
