#include "mounter/session/pending_reads.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>
#include <vector>

#include "mounter/base/log.h"
#include "mounter/session/errno_map.h"

namespace bucketvol {

struct PendingReads::Entry {
  std::shared_ptr<PendingReads> owner;
  std::unique_ptr<ReadRequest> request;
  absl::Duration due;
  Entries::iterator position;  // Guarded by the owner's lock.
  std::atomic<bool> claimed{false};

  /// Runs `answer` on the request unless somebody answered it before. Tells whether it ran.
  template <typename Answer>
  bool AnswerOnce(Answer answer) {
    if (claimed.exchange(true, std::memory_order_acq_rel)) return false;
    answer(*request);
    owner->Remove(*this);
    return true;
  }
};

class PendingReads::Reply final : public ReadReply {
 public:
  explicit Reply(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
  ~Reply() override {
    entry_->AnswerOnce([](ReadRequest& request) { request.SendErrno(EIO); });
  }
  void SendData(absl::Span<const Piece> pieces) override {
    entry_->AnswerOnce([&](ReadRequest& request) { request.SendData(pieces); });
  }
  void SendError(const absl::Status& status) override {
    const int error = status.ok() ? EIO : ReadStatusToErrno(status);
    entry_->AnswerOnce([&](ReadRequest& request) { request.SendErrno(error); });
  }

 private:
  const std::shared_ptr<Entry> entry_;
};

std::shared_ptr<PendingReads> PendingReads::Create(const Clock& clock, Executor& timer,
                                                   absl::Duration limit) {
  return std::shared_ptr<PendingReads>(new PendingReads(clock, timer, limit));
}

std::unique_ptr<ReadReply> PendingReads::Add(std::unique_ptr<ReadRequest> request, absl::Duration age) {
  auto entry = std::make_shared<Entry>();
  entry->owner = shared_from_this();
  entry->request = std::move(request);
  {
    absl::MutexLock lock(&mu_);
    const absl::Duration now = clock_.Elapsed();
    entry->due = now + limit_ - age;
    // All but inherited ones belong at the end.
    auto position = entries_.end();
    while (position != entries_.begin() && (*std::prev(position))->due > entry->due) --position;
    entry->position = entries_.insert(position, entry);
    ArmLocked(now);
  }
  return std::make_unique<Reply>(std::move(entry));
}

void PendingReads::Remove(const Entry& entry) {
  std::shared_ptr<Entry> keep;  // Destroyed after the lock was dropped.
  absl::MutexLock lock(&mu_);
  keep = std::move(*entry.position);
  entries_.erase(entry.position);
}

void PendingReads::ArmLocked(absl::Duration now) {
  if (entries_.empty() || armed_for_ <= entries_.front()->due) return;
  armed_for_ = entries_.front()->due;
  // A read that is being answered right now may be overdue: look again soon, but do not spin.
  const absl::Duration wait = std::max(armed_for_ - now, absl::Milliseconds(1));
  timer_.PostAfter(wait, [weak = weak_from_this()] {
    if (const std::shared_ptr<PendingReads> reads = weak.lock()) reads->OnTimer();
  });
}

void PendingReads::OnTimer() {
  std::vector<std::shared_ptr<Entry>> overdue;
  {
    absl::MutexLock lock(&mu_);
    const absl::Duration now = clock_.Elapsed();
    for (const std::shared_ptr<Entry>& entry : entries_) {
      if (entry->due > now) break;
      overdue.push_back(entry);
    }
  }
  uint64_t answered = 0;
  for (const std::shared_ptr<Entry>& entry : overdue) {
    answered += entry->AnswerOnce([](ReadRequest& request) { request.SendErrno(EIO); }) ? 1 : 0;
  }
  if (answered > 0) {
    timed_out_.fetch_add(answered, std::memory_order_relaxed);
    LogWarning("reads answered with EIO because their data did not come within ",
               absl::FormatDuration(limit_), ": ", answered);
  }
  absl::MutexLock lock(&mu_);
  armed_for_ = absl::InfiniteDuration();
  ArmLocked(clock_.Elapsed());
}

void PendingReads::Abandon() {
  std::vector<std::shared_ptr<Entry>> left;
  {
    absl::MutexLock lock(&mu_);
    left.assign(entries_.begin(), entries_.end());
  }
  for (const std::shared_ptr<Entry>& entry : left) {
    entry->AnswerOnce([](ReadRequest& request) { request.Forget(); });
  }
}

void PendingReads::AwaitEmpty() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(
      +[](Entries* entries) { return entries->empty(); }, &entries_));
}

size_t PendingReads::size() const {
  absl::MutexLock lock(&mu_);
  return entries_.size();
}

}  // namespace bucketvol
