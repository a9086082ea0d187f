#pragma once

#include <cstdint>
#include <vector>

#include "mounter/base/byte_range.h"
#include "mounter/prefetch/stall.h"

namespace bucketvol {

/// Recognises one reader that takes pieces of an object at equal distances, up or down. Thread-compatible.
class StrideDetector {
 public:
  explicit StrideDetector(uint64_t object_size) : size_(object_size) {}

  /// Takes a read that begins a piece: it follows no other closely.
  void OnJump(ByteRange read);
  /// Takes a read that goes on behind another.
  void OnNext(ByteRange read);
  /// The next pieces to fetch, after three equal distances longer than a piece; up to `limit` bytes of them
  /// are kept ahead. `stall`: of the read that began the last piece.
  std::vector<ByteRange> Ahead(Stall stall, uint64_t limit);

 private:
  uint64_t size_;
  ByteRange piece_;       // The last one, as far as it was read.
  uint64_t length_ = 0;   // Of the one before.
  int64_t step_ = 0;      // From the one before to the last.
  int equal_steps_ = 0;   // How often in a row.
  uint64_t pieces_ = 0;   // To be kept ahead.
  uint64_t planned_ = 0;  // Pieces behind the last one that were asked for.
};

}  // namespace bucketvol
