#include "mounter/base/executor.h"

#include <pthread.h>

#include <utility>

#include "absl/time/clock.h"

namespace bucketvol {

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
    wake_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Post(Task task) {
  absl::MutexLock lock(&mu_);
  ready_.push_back(std::move(task));
  wake_.Signal();
}

void ThreadPool::PostAfter(absl::Duration delay, Task task) {
  absl::MutexLock lock(&mu_);
  if (stopping_) return;
  delayed_.emplace(absl::Now() + delay, std::move(task));
  wake_.Signal();
}

bool ThreadPool::PopLocked(Task& task) {
  while (true) {
    if (!delayed_.empty() && delayed_.begin()->first <= absl::Now()) {
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
    if (delayed_.empty()) {
      wake_.Wait(&mu_);
    } else {
      wake_.WaitWithDeadline(&mu_, delayed_.begin()->first);
    }
  }
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
