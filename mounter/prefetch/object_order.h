#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace bucketvol {

/// Whether an order has to prove itself before anything is fetched for its sake.
enum class OrderTrust {
  kProven,   // Followed once readers were seen to take it.
  kAtFirst,  // Followed from its first touch on, until readers are seen not to take it.
};

/// Objects in the order in which readers are expected to take them, by their ordinals in the sequence of the
/// source, with a hash table that tells where in the order an object stands. Immutable, thread-safe.
class ObjectOrder {
 public:
  static constexpr uint64_t kBytesPerObject = 10;  // Of memory.

  /// An object that stands there twice counts where it stands first. Fewer than 2^31 objects.
  explicit ObjectOrder(std::vector<uint32_t> ordinals);

  absl::Span<const uint32_t> ordinals() const { return ordinals_; }
  /// Where in the order an object stands; nullopt when it is not in it.
  std::optional<uint64_t> PositionOf(uint64_t ordinal) const;

 private:
  uint64_t SlotOf(uint64_t ordinal) const;

  std::vector<uint32_t> ordinals_;
  std::vector<uint32_t> slots_;  // Position + 1 of an object, or 0. Never full.
};

}  // namespace bucketvol
