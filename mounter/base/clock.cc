#include "mounter/base/clock.h"

#include <ctime>

#include "absl/time/clock.h"

namespace bucketvol {
namespace {

class RealClock final : public Clock {
 public:
  absl::Time WallNow() const override { return absl::Now(); }
  absl::Duration Elapsed() const override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return absl::DurationFromTimespec(now);
  }
};

}  // namespace

const Clock& Clock::Real() {
  static const RealClock clock;
  return clock;
}

}  // namespace bucketvol
