#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// Picks keys that split a sorted listing into about equal parts, without knowing its length: takes every
/// n-th key and doubles n when there are too many. Not thread-safe.
class BoundarySampler {
 public:
  /// `step`: the least number of keys between two boundaries, ≥ 1.
  BoundarySampler(size_t most, uint64_t step) : most_(most), step_(step) {}

  void Add(absl::Span<const ListedObject> objects);
  const std::vector<std::string>& boundaries() const { return boundaries_; }
  uint64_t step() const { return step_; }

 private:
  const size_t most_;
  uint64_t step_;
  uint64_t seen_ = 0;
  std::vector<std::string> boundaries_;  // Keys number step_, 2·step_, 3·step_, … counted from 1.
};

}  // namespace bucketvol
