#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"

namespace bucketvol::testing {

/// A clock that stands still until told otherwise. Thread-safe.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time now = absl::FromUnixSeconds(1'700'000'000)) : now_(now) {}

  absl::Time WallNow() const override {
    absl::MutexLock lock(&mu_);
    return now_;
  }
  absl::Duration Elapsed() const override {
    absl::MutexLock lock(&mu_);
    return elapsed_;
  }
  void Advance(absl::Duration step) {
    absl::MutexLock lock(&mu_);
    now_ += step;
    elapsed_ += step;
  }

 private:
  mutable absl::Mutex mu_;
  absl::Time now_ ABSL_GUARDED_BY(mu_);
  absl::Duration elapsed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol::testing
