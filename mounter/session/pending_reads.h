#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"
#include "mounter/base/executor.h"
#include "mounter/session/file_server.h"

namespace bucketvol {

/// The kernel's side of one read. Exactly one of the three is called, once, by any thread.
class ReadRequest {
 public:
  virtual ~ReadRequest() = default;
  virtual void SendData(absl::Span<const Piece> pieces) = 0;
  virtual void SendErrno(int error) = 0;
  /// Gives the request up without an answer: the kernel no longer waits for one.
  virtual void Forget() = 0;
};

/// The reads that were taken from the kernel and not yet answered. Answers EIO for each one that is older
/// than the limit, whatever its reader does: a page that waits for ever leaves processes nobody can kill.
///
/// Thread-safe. Make it with Create: replies keep it alive.
class PendingReads : public std::enable_shared_from_this<PendingReads> {
 public:
  /// `clock` and `timer` must live until AwaitEmpty has returned. `limit` must be positive.
  static std::shared_ptr<PendingReads> Create(const Clock& clock, Executor& timer, absl::Duration limit);

  /// Notes a read and returns what completes it. `age`: how long its reader waits already; the limit counts
  /// from there.
  std::unique_ptr<ReadReply> Add(std::unique_ptr<ReadRequest> request,
                                 absl::Duration age = absl::ZeroDuration());
  /// Forgets every read that nobody has answered yet.
  void Abandon();
  /// Waits until every read is answered or forgotten; the limit bounds this. No Add may come meanwhile.
  void AwaitEmpty();

  size_t size() const;
  /// How many reads the limit has answered.
  uint64_t timed_out() const { return timed_out_.load(std::memory_order_relaxed); }

 private:
  struct Entry;
  class Reply;
  using Entries = std::list<std::shared_ptr<Entry>>;

  PendingReads(const Clock& clock, Executor& timer, absl::Duration limit)
      : clock_(clock), timer_(timer), limit_(limit) {}
  void Remove(const Entry& entry);
  void ArmLocked(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnTimer();

  const Clock& clock_;
  Executor& timer_;
  const absl::Duration limit_;
  std::atomic<uint64_t> timed_out_{0};
  mutable absl::Mutex mu_;                // Leaf: nobody is answered under it.
  Entries entries_ ABSL_GUARDED_BY(mu_);  // In order of their deadlines.
  absl::Duration armed_for_ ABSL_GUARDED_BY(mu_) = absl::InfiniteDuration();  // Infinite: no timer runs.
};

}  // namespace bucketvol
