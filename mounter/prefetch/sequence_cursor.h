#pragma once

#include <bitset>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "mounter/prefetch/file_sequence.h"
#include "mounter/prefetch/stall.h"

namespace bucketvol {

/// One place where readers go through objects in the order of the index. Thread-compatible.
class SequenceCursor {
 public:
  /// Begins with the touch that made the order certain.
  SequenceCursor(uint64_t ordinal, uint64_t ahead, absl::Duration now);

  /// How far a touch is from here; nullopt when it does not belong here. It may be as far away as what was
  /// used so far makes believable.
  std::optional<uint64_t> Distance(uint64_t ordinal) const;

  struct Limits {
    uint64_t ahead;    // Most objects kept ahead.
    uint64_t objects;  // In the index.
  };
  /// Takes a touch that belongs here; returns what to fetch.
  OrdinalRange Note(uint64_t ordinal, Stall stall, const Limits& limits, absl::Duration now);

  absl::Duration last_touch() const { return last_touch_; }
  /// Whether the last touch took an object that had been planned, for the first time.
  bool used_planned() const { return used_planned_; }

 private:
  static constexpr uint64_t kRing = 2048;  // Objects whose touches are remembered.

  void MarkUsed(uint64_t ordinal);
  void Judge(absl::Duration now);
  OrdinalRange PlanAhead(const Limits& limits);

  uint64_t last_;  // Highest ordinal touched.
  uint64_t ahead_;
  uint64_t planned_from_;  // What was planned: [planned_from_, planned_to_).
  uint64_t planned_to_;
  uint64_t grow_at_;          // A stall from here on shows that `ahead_` is too small.
  uint64_t judged_to_;        // Planned objects before are written off, used or not.
  uint64_t outstanding_ = 0;  // Planned, neither used nor written off.
  uint64_t used_ = 0;
  uint64_t most_behind_ = 0;  // How far touches were behind the highest.
  absl::Duration stopped_until_;
  absl::Duration last_touch_;
  bool used_planned_ = false;
  std::bitset<kRing> unused_;  // By ordinal modulo kRing: planned and not touched.
};

}  // namespace bucketvol
