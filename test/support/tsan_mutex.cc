// absl::Mutex and absl::CondVar over the C library's mutex, for builds with ThreadSanitizer only.
//
// Debian's abseil is built without ThreadSanitizer, which therefore cannot see that a Mutex orders anything
// and reports every use of one as a race. A program's own definitions win over those of a shared library,
// also for calls inside it. Readers exclude each other here; otherwise this behaves like the original.

#include <sanitizer/tsan_interface.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/synchronization/mutex.h"

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace {

struct Real {
  std::mutex mutex;
  std::condition_variable changed;  // Some holder has let go: conditions may have become true.
  int conditions = 0;               // Threads that wait for one. Guarded by `mutex`.
};

// The state of a Mutex is a pointer to the real one, made when it is first needed: a Mutex may be a constant.
Real& Of(std::atomic<intptr_t>& state) {
  intptr_t known = state.load(std::memory_order_acquire);
  if (known == 0) {
    auto* made = new Real;
    if (state.compare_exchange_strong(known, reinterpret_cast<intptr_t>(made), std::memory_order_acq_rel)) {
      return *made;
    }
    delete made;
  }
  return *reinterpret_cast<Real*>(known);
}

std::condition_variable& ConditionOf(std::atomic<intptr_t>& state) {
  intptr_t known = state.load(std::memory_order_acquire);
  if (known == 0) {
    auto* made = new std::condition_variable;
    if (state.compare_exchange_strong(known, reinterpret_cast<intptr_t>(made), std::memory_order_acq_rel)) {
      return *made;
    }
    delete made;
  }
  return *reinterpret_cast<std::condition_variable*>(known);
}

/// Waits, with the mutex held, until `condition` or the deadline.
bool Wait(Real& real, const Condition& condition, absl::Time deadline) {
  std::unique_lock<std::mutex> lock(real.mutex, std::adopt_lock);
  ++real.conditions;
  bool late = false;
  while (!condition.Eval() && !late) {
    if (deadline == absl::InfiniteFuture()) {
      real.changed.wait(lock);
    } else {
      late = real.changed.wait_until(lock, absl::ToChronoTime(deadline)) == std::cv_status::timeout;
    }
  }
  --real.conditions;
  lock.release();
  return condition.Eval();
}

absl::Time After(absl::Duration timeout) { return absl::Now() + timeout; }

}  // namespace

Mutex::~Mutex() {
  __tsan_mutex_destroy(this, 0);
  delete reinterpret_cast<Real*>(mu_.load(std::memory_order_acquire));
}
void Mutex::Lock() { Of(mu_).mutex.lock(); }
void Mutex::Unlock() {
  Real& real = Of(mu_);
  if (real.conditions > 0) real.changed.notify_all();
  real.mutex.unlock();
}
bool Mutex::TryLock() { return Of(mu_).mutex.try_lock(); }
void Mutex::ReaderLock() { Lock(); }
void Mutex::ReaderUnlock() { Unlock(); }
bool Mutex::ReaderTryLock() { return TryLock(); }
void Mutex::AssertHeld() const {}
void Mutex::AssertReaderHeld() const {}
void Mutex::AssertNotHeld() const {}
void Mutex::ForgetDeadlockInfo() {}
void Mutex::EnableDebugLog(const char*) {}
void Mutex::EnableInvariantDebugging(void (*)(void*), void*) {}

void Mutex::Await(const Condition& condition) { AwaitWithDeadline(condition, absl::InfiniteFuture()); }
bool Mutex::AwaitWithTimeout(const Condition& condition, absl::Duration timeout) {
  return AwaitWithDeadline(condition, After(timeout));
}
bool Mutex::AwaitWithDeadline(const Condition& condition, absl::Time deadline) {
  Real& real = Of(mu_);
  if (condition.Eval()) return true;
  if (real.conditions > 0)
    real.changed.notify_all();  // What this thread changed so far may be what another waits for.
  return Wait(real, condition, deadline);
}
void Mutex::LockWhen(const Condition& condition) {
  Lock();
  Await(condition);
}
bool Mutex::LockWhenWithTimeout(const Condition& condition, absl::Duration timeout) {
  return LockWhenWithDeadline(condition, After(timeout));
}
bool Mutex::LockWhenWithDeadline(const Condition& condition, absl::Time deadline) {
  Lock();
  return AwaitWithDeadline(condition, deadline);
}
void Mutex::ReaderLockWhen(const Condition& condition) { LockWhen(condition); }
bool Mutex::ReaderLockWhenWithTimeout(const Condition& condition, absl::Duration timeout) {
  return LockWhenWithTimeout(condition, timeout);
}
bool Mutex::ReaderLockWhenWithDeadline(const Condition& condition, absl::Time deadline) {
  return LockWhenWithDeadline(condition, deadline);
}

CondVar::~CondVar() {
  delete reinterpret_cast<std::condition_variable*>(cv_.load(std::memory_order_acquire));
}
void CondVar::Wait(Mutex* mutex) { WaitWithDeadline(mutex, absl::InfiniteFuture()); }
bool CondVar::WaitWithTimeout(Mutex* mutex, absl::Duration timeout) {
  return WaitWithDeadline(mutex, After(timeout));
}
bool CondVar::WaitWithDeadline(Mutex* mutex, absl::Time deadline) {
  // The first member, and the only one: CondVar has no access to it.
  Real& real = Of(*reinterpret_cast<std::atomic<intptr_t>*>(mutex));
  if (real.conditions > 0) real.changed.notify_all();
  std::unique_lock<std::mutex> lock(real.mutex, std::adopt_lock);
  bool late = false;
  if (deadline == absl::InfiniteFuture()) {
    ConditionOf(cv_).wait(lock);
  } else {
    late = ConditionOf(cv_).wait_until(lock, absl::ToChronoTime(deadline)) == std::cv_status::timeout;
  }
  lock.release();
  return late;
}
void CondVar::Signal() { ConditionOf(cv_).notify_one(); }
void CondVar::SignalAll() { ConditionOf(cv_).notify_all(); }
void CondVar::EnableDebugLog(const char*) {}

ABSL_NAMESPACE_END
}  // namespace absl
