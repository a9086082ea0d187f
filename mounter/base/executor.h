#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace bucketvol {

using Task = absl::AnyInvocable<void() &&>;

/// Runs tasks somewhere else. Thread-safe. Post never runs the task in the caller.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void Post(Task task) = 0;
  /// Runs `task` no earlier than `delay` from now. A jump of the wall clock changes nothing.
  virtual void PostAfter(absl::Duration delay, Task task) = 0;
};

/// A fixed number of threads over one unbounded queue. Tasks may block only as `docs/threading.md` allows for
/// the pool.
///
/// The destructor runs every task already posted without delay, drops delayed ones that are not yet due, and
/// joins.
class ThreadPool final : public Executor {
 public:
  /// `name` (at most 12 bytes) shows in `ps -L`. `threads` ≥ 1.
  ThreadPool(const std::string& name, int threads);
  ~ThreadPool() override;

  void Post(Task task) override;
  void PostAfter(absl::Duration delay, Task task) override;

 private:
  void Run();
  bool PopLocked(Task& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AwaitWakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;                    // Leaf: no task runs under it.
  std::condition_variable_any wake_;  // absl::CondVar waits by the wall clock, which jumps.
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<Task> ready_ ABSL_GUARDED_BY(mu_);
  std::multimap<absl::Duration, Task> delayed_ ABSL_GUARDED_BY(mu_);  // By Clock::Elapsed.
  std::vector<std::thread> threads_;                                  // Fixed at construction.
};

}  // namespace bucketvol
