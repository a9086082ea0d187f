#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "mounter/objstore/duration_histogram.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

struct HedgeSettings {
  double budget = 0.05;        // Second requests for each first one.
  double outage_share = 0.10;  // With more slow requests than that it is no tail but an outage.
  int least_samples = 20;      // What is normal is known from so many durations on.
  // Differences below this are the machine's own.
  absl::Duration least_limit = absl::Milliseconds(10);
  absl::Duration least_stall = absl::Seconds(1.5);
  // Longest silence while the service's habits are not known, and in an outage.
  absl::Duration stall_at_first = absl::Seconds(20);
};

/// How far one GET has come. Times are those of Clock::Elapsed.
struct GetProgress {
  uint64_t size = 0;  // Of the range asked for.
  absl::Duration begun;
  absl::Duration last_byte;  // `begun` before the first.
  bool answered = false;     // A byte has come.
};

/// Learns how long GETs take and tells which of those under way are slow.
///
/// A GET is slow when its first byte, the next byte, or its end is later than for all but the slowest
/// twentieth (of those of its size) and later than three times the median. It has stalled when no byte came
/// for longer than in 999 of 1,000 cases, and at least 1.5 seconds.
///
/// Not thread-safe.
class HedgePolicy {
 public:
  explicit HedgePolicy(const HedgeSettings& settings);

  /// A GET begins, which earns a share of a second request.
  void OnBegin();
  /// A byte comes; changes `progress`.
  void OnByte(GetProgress& progress, absl::Duration now);
  /// All its bytes came.
  void OnWhole(const GetProgress& progress, absl::Duration now);
  /// It was given up for another after a silence.
  void OnGivenUp(const GetProgress& progress, absl::Duration now);
  /// For each GET, once: whether it was slow.
  void OnVerdict(bool slow);

  /// Draws conclusions from what has been learned. What follows goes by them.
  void Refresh();
  bool IsSlow(const GetProgress& progress, absl::Duration now) const {
    return IsSilent(progress, now) || IsLate(progress, now);
  }
  /// Slow for want of the next byte.
  bool IsSilent(const GetProgress& progress, absl::Duration now) const;
  /// Slow for want of the end.
  bool IsLate(const GetProgress& progress, absl::Duration now) const;
  bool HasStalled(const GetProgress& progress, absl::Duration now) const;
  /// How often to look at GETs under way, for limits to be kept by about an eighth.
  absl::Duration LookInterval() const;

  /// Takes one second request from the budget: false when there is none, or in an outage. Some of it is kept
  /// for what readers wait for.
  bool Spend(GetPurpose purpose);
  bool outage() const;

 private:
  // GETs of about the same size.
  struct SizeClass {
    DurationHistogram whole{256};
    absl::Duration slow = absl::InfiniteDuration();
  };
  static constexpr size_t kSizeClasses = 16;  // By powers of two, from 16 KiB up.
  static size_t ClassOf(uint64_t size);
  absl::Duration SlowLimit(const DurationHistogram& histogram) const;
  absl::Duration StallLimit(const DurationHistogram& histogram) const;

  const HedgeSettings settings_;
  // Limits follow changes soon; the last of a thousand takes thousands to know.
  DurationHistogram first_byte_{256};
  DurationHistogram first_byte_tail_{4096};
  DurationHistogram gap_tail_{16384};
  std::array<SizeClass, kSizeClasses> classes_;

  double spendable_ = 2;
  // Of about the last hundred GETs.
  double slow_ = 0;
  double judged_ = 0;

  // Refresh's conclusions. Infinite: not known.
  absl::Duration slow_first_byte_ = absl::InfiniteDuration();
  absl::Duration slow_gap_ = absl::InfiniteDuration();
  absl::Duration stalled_first_byte_;
  absl::Duration stalled_gap_;
};

}  // namespace bucketvol
