#include "mounter/base/executor.h"

#include <pthread.h>

#include <utility>

#include "mounter/base/clock.h"

namespace bucketvol {
namespace {

// A mutex as the standard library knows it.
class Relock {
 public:
  explicit Relock(absl::Mutex& mu) : mu_(mu) {}
  void lock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu_.Lock(); }
  void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu_.Unlock(); }

 private:
  absl::Mutex& mu_;
};

absl::Duration Now() { return Clock::Real().Elapsed(); }

}  // namespace

ThreadPool::ThreadPool(const std::string& name, int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Run(); });
    pthread_setname_np(threads_.back().native_handle(), name.substr(0, 15).c_str());
  }
}

ThreadPool::~ThreadPool() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    delayed_.clear();
    wake_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Post(Task task) {
  absl::MutexLock lock(&mu_);
  ready_.push_back(std::move(task));
  wake_.notify_one();
}

void ThreadPool::PostAfter(absl::Duration delay, Task task) {
  absl::MutexLock lock(&mu_);
  if (stopping_) return;
  delayed_.emplace(Now() + delay, std::move(task));
  wake_.notify_one();
}

bool ThreadPool::PopLocked(Task& task) {
  while (true) {
    if (!delayed_.empty() && delayed_.begin()->first <= Now()) {
      task = std::move(delayed_.begin()->second);
      delayed_.erase(delayed_.begin());
      return true;
    }
    if (!ready_.empty()) {
      task = std::move(ready_.front());
      ready_.pop_front();
      return true;
    }
    if (stopping_) return false;
    AwaitWakeLocked();
  }
}

void ThreadPool::AwaitWakeLocked() {
  Relock relock(mu_);
  if (delayed_.empty()) return wake_.wait(relock);
  // Before the first of them another one may come.
  wake_.wait_for(relock, absl::ToChronoNanoseconds(delayed_.begin()->first - Now()));
}

void ThreadPool::Run() {
  while (true) {
    Task task;
    {
      absl::MutexLock lock(&mu_);
      if (!PopLocked(task)) return;
    }
    std::move(task)();
  }
}

}  // namespace bucketvol
