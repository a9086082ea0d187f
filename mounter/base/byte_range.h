#pragma once

#include <cstdint>

namespace bucketvol {

/// A half-open range of bytes [begin, end). Empty when begin == end; begin ≤ end always.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool contains(uint64_t offset) const { return begin <= offset && offset < end; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace bucketvol
