#pragma once

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/prefetch/file_sequence.h"
#include "mounter/prefetch/stall.h"
#include "mounter/reader/object_sequence.h"

namespace bucketvol {

/// Tells which small objects to fetch ahead of readers that take them in the order of a sequence.
///
/// Thread-safe. The sequence is asked without a lock.
class SequenceAhead {
 public:
  /// Borrows `sequence`. Objects larger than `most_bytes` are left out.
  SequenceAhead(const ObjectSequence& sequence, uint64_t most_bytes);

  /// Takes the first touch of a small object; returns what to fetch, most urgent first.
  std::vector<ObjectId> OnTouch(uint64_t ordinal, Stall stall, absl::Duration now);

 private:
  const ObjectSequence& sequence_;
  const uint64_t most_bytes_;
  absl::Mutex mu_;  // Leaf.
  FileSequence files_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
