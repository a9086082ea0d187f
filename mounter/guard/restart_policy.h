#pragma once

#include <cstdint>
#include <optional>

namespace bucketvol {

/// Says when the next worker may start after one has ended: at once, unless they end as soon as they start.
class RestartPolicy {
 public:
  /// A worker that served this long was none that fails at its start.
  static constexpr int64_t kHealthyMs = 500;
  /// So many failures cost no time: accidents.
  static constexpr uint32_t kAtOnce = 2;
  /// After so many a request that was taken over as often may be what ends the workers.
  static constexpr uint32_t kSuspectRequests = 5;

  /// `patience_ms`: how long workers may go on failing before they are given up.
  explicit RestartPolicy(int64_t patience_ms) : patience_ms_(patience_ms) {}

  /// Milliseconds to wait before the next one starts; nullopt: give up. `served_ms`: how long the one that
  /// ended at `now_ms` had served requests; 0 if it never did.
  std::optional<int64_t> DelayAfter(int64_t served_ms, int64_t now_ms);
  /// So often a request may be taken over now; 0: any number of times.
  uint32_t MostAttempts() const { return failures_ >= kSuspectRequests ? kSuspectRequests : 0; }
  void Reset() { failures_ = 0; }

 private:
  int64_t patience_ms_;
  uint32_t failures_ = 0;  // In a row.
  int64_t failing_since_ms_ = 0;
};

}  // namespace bucketvol
