#pragma once

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace bucketvol {

struct RetrySettings {
  int max_attempts = 10;                      // In a row without a byte of progress.
  absl::Duration budget = absl::Seconds(90);  // No attempt begins later than this after the first.
  absl::Duration first_delay = absl::Milliseconds(100);
  absl::Duration first_throttled_delay = absl::Seconds(1);
  absl::Duration longest_delay = absl::Seconds(20);
  // While the service has never answered, a wrong url= or proxy= is likelier than an outage: the user should
  // hear of it. 0: no such limit.
  int first_contact_attempts = 3;
};

/// A number in [0, 1). Thread-safe.
using UniformRandom = std::function<double()>;

/// Says how long to wait before the next attempt, or nullopt to give up: full jitter over a delay that
/// doubles.
///
/// `attempts` have failed in a row, the last with `status`, `elapsed` after the first began.
std::optional<absl::Duration> DelayBeforeRetry(const RetrySettings& settings, const absl::Status& status,
                                               int attempts, absl::Duration elapsed, bool ever_answered,
                                               const UniformRandom& random);

}  // namespace bucketvol
