#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "mounter/prefetch/object_order.h"

namespace bucketvol {

/// Tells whether readers take objects in a known order, by where in it the objects stand that they touch.
///
/// A touch agrees with the order when a quarter of the 32 touches before it were near it: within a sixteenth
/// of the order, at most 4,096 objects. So several readers that each take a batch in turn agree, and up to
/// four groups of readers at different places, while of touches in another order one in twenty-five agrees.
/// 12 agreements in the last 16 touches begin it, fewer than 12 in the last 32 end it. An order of fewer than
/// 512 objects is judged by fewer touches. Not thread-safe.
class OrderMatch {
 public:
  /// `objects`: in the order.
  OrderMatch(uint64_t objects, OrderTrust trust);

  /// Takes the place of a touched object in the order; nullopt when it is not in it. Returns whether readers
  /// follow the order now.
  bool Note(std::optional<uint64_t> position);

 private:
  static constexpr uint64_t kRemembered = 32;

  bool Agrees(uint64_t position) const;

  uint64_t near_;       // How far away another touch may be,
  uint64_t looked_at_;  // and how many are looked at.
  bool follows_;
  uint64_t history_;  // One bit for each touch, the last one lowest: whether it agreed.
  std::array<uint64_t, kRemembered> recent_;  // Positions, the last one at touches_ - 1.
  uint64_t touches_ = 0;
};

}  // namespace bucketvol
