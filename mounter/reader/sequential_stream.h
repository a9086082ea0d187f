#pragma once

#include <cstdint>

#include "mounter/base/byte_range.h"

namespace bucketvol {

/// Recognises one sequential reader of an object and says what to fetch ahead of it. Thread-compatible.
class SequentialStream {
 public:
  /// Notes a read; returns what to fetch ahead of it, empty if nothing. `window`: how far to be ahead; 0:
  /// never.
  ByteRange Note(ByteRange read, uint64_t object_size, uint64_t window);

  /// Whether the reads so far are those of a sequential reader.
  bool sequential() const { return steps_ >= kDecidingSteps; }

 private:
  // A read that begins where another ended is a step; so is one at the beginning of the object. Elsewhere the
  // third read decides, because the kernel cuts one large direct read into two that follow each other.
  static constexpr int kDecidingSteps = 2;
  // Requests of one reader overtake each other by this much.
  static constexpr uint64_t kReordering = 1 << 20;

  uint64_t expected_ = 0;
  uint64_t ahead_ = 0;  // What lies before was asked for.
  int steps_ = 0;
};

}  // namespace bucketvol
