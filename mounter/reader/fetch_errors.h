#pragma once

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"

namespace bucketvol {

/// Logs errors of fetches, one line a second at most, and keeps the last one. Thread-safe.
class FetchErrors {
 public:
  explicit FetchErrors(const Clock& clock) : clock_(clock) {}

  void Note(const absl::Status& error);
  /// Keeps an error that somebody else has logged.
  void Keep(const absl::Status& error);
  std::string last() const;

 private:
  const Clock& clock_;
  mutable absl::Mutex mu_;  // Leaf.
  std::string last_ ABSL_GUARDED_BY(mu_);
  absl::Duration next_line_ ABSL_GUARDED_BY(mu_) = -absl::InfiniteDuration();
  uint64_t unlogged_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace bucketvol
