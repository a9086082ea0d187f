#include "test/support/virtual_time.h"

namespace bucketvol::testing {

VirtualTime::~VirtualTime() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

absl::Time VirtualTime::WallNow() const { return absl::FromUnixSeconds(1'700'000'000) + Elapsed(); }

absl::Duration VirtualTime::Elapsed() const {
  absl::MutexLock lock(&mu_);
  return now_;
}

void VirtualTime::PostAfter(absl::Duration delay, Task task) {
  absl::MutexLock lock(&mu_);
  const uint64_t rank = order_ == Order::kRandom ? random_() << 20 | (posted_ & 0xfffff) : posted_;
  ++posted_;
  due_.emplace(Due{now_ + delay, rank}, std::move(task));
}

bool VirtualTime::RunOneBefore(absl::Duration limit) {
  Task task;
  {
    absl::MutexLock lock(&mu_);
    if (due_.empty() || due_.begin()->first.at > limit) return false;
    now_ = due_.begin()->first.at;
    task = std::move(due_.begin()->second);
    due_.erase(due_.begin());
  }
  std::move(task)();
  return true;
}

bool VirtualTime::RunOne() { return RunOneBefore(absl::InfiniteDuration()); }

void VirtualTime::RunUntilIdle() {
  while (RunOne()) {
  }
}

void VirtualTime::Advance(absl::Duration step) {
  const absl::Duration limit = Elapsed() + step;
  while (RunOneBefore(limit)) {
  }
  absl::MutexLock lock(&mu_);
  now_ = limit;
}

void VirtualTime::RunInBackground() {
  thread_ = std::thread([this] { Loop(); });
}

void VirtualTime::Loop() {
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || !due_.empty(); };
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&ready));
      if (stopping_) return;
    }
    RunOne();
  }
}

}  // namespace bucketvol::testing
