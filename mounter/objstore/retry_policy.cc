#include "mounter/objstore/retry_policy.h"

#include <algorithm>
#include <cmath>

#include "mounter/objstore/store_error.h"

namespace bucketvol {

std::optional<absl::Duration> DelayBeforeRetry(const RetrySettings& settings, const absl::Status& status,
                                               int attempts, absl::Duration elapsed, bool ever_answered,
                                               const UniformRandom& random) {
  if (!IsRetryable(status)) return std::nullopt;
  const bool strangers = !ever_answered && settings.first_contact_attempts > 0;
  if (attempts >= (strangers ? std::min(settings.first_contact_attempts, settings.max_attempts)
                             : settings.max_attempts)) {
    return std::nullopt;
  }
  const std::optional<StoreError> error = StoreErrorOf(status);
  const absl::Duration first =
      error && error->throttled ? settings.first_throttled_delay : settings.first_delay;
  const absl::Duration ceiling = std::min(settings.longest_delay, first * std::exp2(attempts - 1));
  const absl::Duration delay = ceiling * random();
  if (elapsed + delay > settings.budget) return std::nullopt;
  return delay;
}

}  // namespace bucketvol
