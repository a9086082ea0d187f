#pragma once

#include <limits>

#include "absl/time/time.h"

namespace bucketvol {

/// Decides when requests may go out: a token bucket whose rate follows what the service bears.
///
/// When the service throttles more than one request in fifty (and at least five), the rate becomes 0.7 times
/// the lesser of itself and of what was sent lately, but not below fifty a second; at most once a second.
/// Below that share the retries alone cope. Each second without a cut it grows by a tenth, up to the
/// configured rate, or, when there is none, until it is ten times that of the last cut, where the limit falls
/// away.
///
/// Not thread-safe. Times are those of Clock::Elapsed.
class RequestPacer {
 public:
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  /// Requests per second; kUnlimited: as fast as the service bears.
  explicit RequestPacer(double configured_rate) : configured_(configured_rate), rate_(configured_rate) {}

  /// Gives one request its turn and says how long it has to wait for it.
  absl::Duration Admit(absl::Duration now);
  /// Gives one request its turn if that has come; else false, and nothing changes.
  bool TryAdmit(absl::Duration now);
  /// Takes note that an admitted request goes out.
  void OnSend(absl::Duration now);
  /// Takes note of an answer.
  void OnAnswer(absl::Duration now, bool throttled);

  double rate() const { return rate_; }

 private:
  void PassWindows(absl::Duration now);
  void Cut(absl::Duration now);

  const double configured_;
  double rate_;
  double rate_of_cut_ = 0;
  absl::Duration next_ = -absl::InfiniteDuration();  // When the next request may go out, but for the burst.

  // The current window: a second, or what has passed of it.
  absl::Duration window_begin_;
  int sent_ = 0;
  int throttled_ = 0;
  bool cut_in_window_ = false;
  double last_rate_ = 0;  // Sent in the window before.
};

}  // namespace bucketvol
