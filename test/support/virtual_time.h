#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"
#include "mounter/base/executor.h"

namespace bucketvol::testing {

/// A clock and an executor whose time is simulated: it stands still while tasks run and jumps to the next
/// task that is due, so that an hour of waiting costs nothing and every run of one seed is the same.
///
/// Tasks run one at a time: in the caller of the Run… functions, or on one thread of its own after
/// RunInBackground(). Equal times run in the order of posting, or in a random order made from the seed.
/// Thread-safe.
class VirtualTime final : public Clock, public Executor {
 public:
  enum class Order { kPosted, kRandom };
  explicit VirtualTime(Order order = Order::kPosted, uint64_t seed = 1) : order_(order), random_(seed) {}
  /// Stops the thread. Tasks that have not run are dropped.
  ~VirtualTime() override;

  absl::Time WallNow() const override;
  absl::Duration Elapsed() const override;
  void Post(Task task) override { PostAfter(absl::ZeroDuration(), std::move(task)); }
  void PostAfter(absl::Duration delay, Task task) override;

  /// Runs the next task, after moving the clock to its time. False when there is none.
  bool RunOne();
  /// Runs until no task is left.
  void RunUntilIdle();
  /// Runs what is due within `step`, then leaves the clock exactly `step` later.
  void Advance(absl::Duration step);
  /// Starts a thread that runs tasks as they come, for tests of code that blocks its caller.
  void RunInBackground();

 private:
  struct Due {
    absl::Duration at;
    uint64_t rank;  // Among equal times.
    bool operator<(const Due& other) const { return std::pair(at, rank) < std::pair(other.at, other.rank); }
  };
  bool RunOneBefore(absl::Duration limit);
  void Loop();

  const Order order_;
  mutable absl::Mutex mu_;  // Leaf: no task runs under it.
  std::mt19937_64 random_ ABSL_GUARDED_BY(mu_);
  absl::Duration now_ ABSL_GUARDED_BY(mu_);
  uint64_t posted_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Due, Task> due_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace bucketvol::testing
