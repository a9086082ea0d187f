#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace bucketvol {

/// How many bytes two strings have in common at their beginning. Eight at a time: this runs once per key.
inline size_t CommonPrefix(absl::string_view a, absl::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t i = 0;
  for (; i + 8 <= most; i += 8) {
    uint64_t x, y;
    std::memcpy(&x, a.data() + i, 8);
    std::memcpy(&y, b.data() + i, 8);
    static_assert(std::endian::native == std::endian::little);
    if (x != y) return i + static_cast<size_t>(std::countr_zero(x ^ y)) / 8;
  }
  while (i < most && a[i] == b[i]) ++i;
  return i;
}

}  // namespace bucketvol
