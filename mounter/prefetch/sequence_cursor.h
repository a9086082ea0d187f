#pragma once

#include <algorithm>
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
  /// Begins with the touch that made the order certain. `reordered`: how far readers that go together are
  /// expected to overtake each other.
  SequenceCursor(uint64_t ordinal, uint64_t ahead, uint64_t reordered, uint64_t touch);

  /// How far a touch is from here; nullopt when it does not belong here. It may be as far away as what was
  /// used so far makes believable. 0 when it is of an object that was planned here and not used.
  std::optional<uint64_t> Distance(uint64_t ordinal) const;

  struct Touch {
    uint64_t ordinal;
    Stall stall;
    uint64_t number;  // Of all touches.
    absl::Duration now;
  };
  struct Limits {
    uint64_t ahead;    // Most objects kept ahead.
    uint64_t objects;  // In the index.
  };
  /// Takes a touch that belongs here.
  void Note(const Touch& touch, const Limits& limits);
  /// What to fetch now.
  OrdinalRange Plan(const Limits& limits, absl::Duration now);

  /// The next object to plan; and the same when others have planned what lies between.
  uint64_t next() const { return planned_to_; }
  void SkipTo(uint64_t next) { planned_to_ = next; }
  /// Whether nothing is left to plan before the readers go on.
  bool full() const { return planned_to_ > last_ + ahead_; }
  /// Takes over what another cursor at this place has planned.
  void Absorb(const SequenceCursor& other);
  /// Whether readers came by the object here lately, or it is planned.
  bool Covers(uint64_t ordinal) const {
    return std::max(begin_, judged_to_) <= ordinal && ordinal < planned_to_;
  }

  /// The number of the last touch.
  uint64_t last_touch() const { return last_touch_; }
  /// Whether the last touch took an object that had been planned, for the first time.
  bool used_planned() const { return used_planned_; }

 private:
  static constexpr uint64_t kRing = 8192;  // Objects whose touches are remembered.

  bool Unused(uint64_t ordinal) const {
    return judged_to_ <= ordinal && ordinal < planned_to_ && unused_.test(ordinal % kRing);
  }
  void MarkUsed(uint64_t ordinal);
  void Judge(absl::Duration now);

  uint64_t begin_;  // Where the first readers were.
  uint64_t last_;   // Highest ordinal touched.
  uint64_t ahead_;
  uint64_t planned_to_;
  uint64_t grow_at_;          // A stall from here on shows that `ahead_` is too small.
  uint64_t judged_to_;        // Planned objects before are written off, used or not.
  uint64_t outstanding_ = 0;  // Planned, neither used nor written off.
  uint64_t used_ = 0;
  uint64_t most_behind_ = 0;     // How far they were behind it.
  uint64_t judged_planned_ = 0;  // Since the last verdict: planned, and
  uint64_t judged_unused_ = 0;   // not used.
  absl::Duration stopped_until_ = -absl::InfiniteDuration();
  uint64_t last_touch_;
  bool used_planned_ = false;
  // By ordinal modulo kRing, from judged_to_ on.
  std::bitset<kRing> planned_;
  std::bitset<kRing> unused_;  // Planned and not touched.
};

}  // namespace bucketvol
