#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/prefetch/file_sequence.h"
#include "mounter/prefetch/object_order.h"
#include "mounter/prefetch/order_follower.h"
#include "mounter/prefetch/stall.h"
#include "mounter/reader/object_sequence.h"

namespace bucketvol {

/// Tells which small objects to fetch ahead of readers that take them in a known order, or in the order of a
/// sequence; and remembers what was touched, for whoever records it.
///
/// Thread-safe. The sequence is asked without a lock.
class SequenceAhead {
 public:
  /// Touches that are remembered until they are taken; later ones are forgotten.
  static constexpr size_t kMostTouches = 1 << 18;

  /// Borrows `sequence`. Objects larger than `most_bytes` are left out.
  SequenceAhead(const ObjectSequence& sequence, uint64_t most_bytes);

  /// Takes the first touch of a small object; returns what to fetch, most urgent first.
  std::vector<ObjectId> OnTouch(uint64_t ordinal, Stall stall, absl::Duration now);
  /// Follows this order from now on, too, in place of the one of the same trust.
  void Follow(std::shared_ptr<const ObjectOrder> order, OrderTrust trust);
  /// The ordinals touched since the last call. Those above 2^32 are left out.
  std::vector<uint32_t> TakeTouches();

 private:
  std::vector<uint64_t> Plan(uint64_t ordinal, Stall stall, absl::Duration now) ABSL_LOCKS_EXCLUDED(mu_);

  const ObjectSequence& sequence_;
  const uint64_t most_bytes_;
  absl::Mutex mu_;  // Leaf.
  FileSequence files_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<OrderFollower> told_ ABSL_GUARDED_BY(mu_);      // By the user; may be null.
  std::unique_ptr<OrderFollower> recorded_ ABSL_GUARDED_BY(mu_);  // In an earlier epoch; may be null.
  std::vector<uint32_t> touches_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
