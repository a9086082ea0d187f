#pragma once

#include <array>
#include <cstddef>

#include "absl/time/time.h"

namespace bucketvol {

/// Remembers how long something took lately, to one part in eight, and forgets it by halves.
///
/// Not thread-safe. From a microsecond to about an hour; what lies beyond counts as the border.
class DurationHistogram {
 public:
  /// Of what was added before the last `window` durations about half is forgotten.
  explicit DurationHistogram(double window) : window_(window) {}

  void Add(absl::Duration duration);
  /// How many durations it remembers. Falls when it forgets.
  double count() const { return count_; }
  /// The duration that `share` (0…1) of those remembered do not exceed, rounded up; zero without any.
  absl::Duration Quantile(double share) const;

 private:
  static constexpr size_t kStepsPerOctave = 8;
  static constexpr size_t kOctaves = 32;

  const double window_;
  double count_ = 0;
  std::array<float, kStepsPerOctave* kOctaves> counts_ = {};
};

}  // namespace bucketvol
