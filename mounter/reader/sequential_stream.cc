#include "mounter/reader/sequential_stream.h"

#include <algorithm>

namespace bucketvol {

ByteRange SequentialStream::Note(ByteRange read, uint64_t object_size, uint64_t window) {
  const uint64_t distance = read.begin > expected_ ? read.begin - expected_ : expected_ - read.begin;
  if (distance > kReordering || (steps_ == 0 && distance != 0)) {
    *this = SequentialStream();
    expected_ = read.end;
    return {};
  }
  expected_ = std::max(expected_, read.end);
  steps_ = std::min(steps_ + 1, kDecidingSteps);
  const uint64_t begin = std::max(expected_, ahead_);
  const uint64_t end = std::min(object_size, expected_ + window);
  // In halves of the window, so that each GET is worth its while.
  if (!sequential() || begin >= end || (end < object_size && end - begin < window / 2)) return {};
  ahead_ = end;
  return {begin, end};
}

}  // namespace bucketvol
