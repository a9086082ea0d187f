#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "mounter/prefetch/file_sequence.h"
#include "mounter/prefetch/object_order.h"
#include "mounter/prefetch/order_match.h"
#include "mounter/prefetch/stall.h"

namespace bucketvol {

/// Says what to fetch ahead of readers that take small objects in a known order.
///
/// Within the order it does what FileSequence does within the index: several places at once, more ahead while
/// readers wait, less or nothing where what was fetched is not used. While readers do not follow the order
/// it fetches nothing. Not thread-safe. Time is passed in and does not go back.
class OrderFollower {
 public:
  OrderFollower(std::shared_ptr<const ObjectOrder> order, OrderTrust trust);

  /// Takes the first touch of a small object and how it found its bytes. False: readers do not follow the
  /// order, or the object is not in it. Appends the ordinals of what to fetch, most urgent first.
  bool OnTouch(uint64_t ordinal, Stall stall, absl::Duration now, std::vector<uint64_t>& ahead);

  /// Objects planned so far, and those of them that were touched since.
  uint64_t fetched() const { return sequence_.fetched(); }
  uint64_t used() const { return sequence_.used(); }

 private:
  const std::shared_ptr<const ObjectOrder> order_;
  OrderMatch match_;
  FileSequence sequence_;  // Of positions in the order.
};

}  // namespace bucketvol
