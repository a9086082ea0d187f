#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace bucketvol {

/// Counts what is going on, so that a destructor can wait for the end of it. Thread-safe.
class InFlight {
 public:
  ~InFlight() { WaitForNone(); }

  void Enter() {
    absl::MutexLock lock(&mu_);
    ++count_;
  }
  /// After this the caller touches the owner no more.
  void Leave() {
    absl::MutexLock lock(&mu_);
    --count_;
  }
  void WaitForNone() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](int* count) { return *count == 0; }, &count_));
  }

 private:
  absl::Mutex mu_;  // Leaf.
  int count_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace bucketvol
