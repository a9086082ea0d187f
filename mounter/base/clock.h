#pragma once

#include "absl/time/time.h"

namespace bucketvol {

/// Tells the time. Injected everywhere, so that tests step it instead of sleeping. Implementations are
/// thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// The wall clock: for signatures, file times and reports. May jump.
  virtual absl::Time WallNow() const = 0;
  /// Time since an arbitrary fixed origin. Never goes back: for delays, deadlines and rates.
  virtual absl::Duration Elapsed() const = 0;

  /// The machine's clocks.
  static const Clock& Real();
};

}  // namespace bucketvol
