#pragma once

#include <cstdint>
#include <utility>

#include "absl/types/span.h"
#include "mounter/base/byte_range.h"
#include "mounter/cache/memory_budget.h"
#include "mounter/cache/unit_arena.h"

namespace bucketvol {

/// The bytes of one block and their checksum (CRC-32C). Filled once, front to back, by one thread; then
/// constant.
///
/// Readers may use the bytes below a length that the filling thread has published under a lock.
class BlockBuffer {
 public:
  /// `reservation` pays for the whole unit.
  BlockBuffer(UnitArena::Unit unit, Reservation reservation)
      : unit_(std::move(unit)), reservation_(std::move(reservation)) {}

  void Append(absl::Span<const char> data);
  /// Begins anew. Only while nobody was told of any byte.
  void Restart() { filled_ = 0, checksum_ = 0; }
  uint64_t filled() const { return filled_; }
  /// CRC-32C of what was filled in.
  uint32_t checksum() const { return checksum_; }
  absl::Span<const char> bytes(ByteRange range) const { return {unit_.data() + range.begin, range.size()}; }
  /// Whether the bytes are those that arrived. Only once all are there.
  bool Verify() const;

 private:
  UnitArena::Unit unit_;
  Reservation reservation_;
  uint64_t filled_ = 0;
  uint32_t checksum_ = 0;
};

}  // namespace bucketvol
