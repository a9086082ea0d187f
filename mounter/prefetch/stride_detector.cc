#include "mounter/prefetch/stride_detector.h"

#include <algorithm>

namespace bucketvol {

namespace {

constexpr int kDecidingSteps = 3;
constexpr uint64_t kFirstPieces = 2;
constexpr uint64_t kMostPieces = 64;

uint64_t Magnitude(int64_t step) {
  return step < 0 ? -static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
}

}  // namespace

void StrideDetector::OnJump(ByteRange read) {
  const int64_t step = piece_.empty() ? 0 : static_cast<int64_t>(read.begin - piece_.begin);
  length_ = piece_.size();
  if (step == step_ && Magnitude(step) > length_) {
    ++equal_steps_;
    planned_ -= std::min<uint64_t>(planned_, 1);
  } else {
    equal_steps_ = step == 0 ? 0 : 1;
    pieces_ = planned_ = 0;
  }
  step_ = step;
  piece_ = read;
}

void StrideDetector::OnNext(ByteRange read) {
  if (piece_.contains(read.begin) || read.begin == piece_.end) piece_.end = std::max(piece_.end, read.end);
}

std::vector<ByteRange> StrideDetector::Ahead(Stall stall, uint64_t limit) {
  std::vector<ByteRange> pieces;
  const uint64_t length = std::max(length_, piece_.size());
  if (equal_steps_ < kDecidingSteps || length == 0 || Magnitude(step_) <= length) return pieces;
  if (stall != Stall::kNone) pieces_ = std::clamp(2 * pieces_, kFirstPieces, kMostPieces);
  for (const uint64_t wanted = std::min(pieces_, limit / length); planned_ < wanted; ++planned_) {
    // Wraps below 0 to far behind the end.
    const uint64_t begin = piece_.begin + static_cast<uint64_t>(step_) * (planned_ + 1);
    if (begin >= size_) break;
    pieces.push_back({begin, begin + std::min(length, size_ - begin)});
  }
  return pieces;
}

}  // namespace bucketvol
