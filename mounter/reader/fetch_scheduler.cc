#include "mounter/reader/fetch_scheduler.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace bucketvol {

FetchScheduler::FetchScheduler(ObjectStore& store, BlockTier* tier, MemoryTier& memory, const Clock& clock,
                               Fetch::Owner& owner, const Settings& settings)
    : store_(store),
      memory_(memory),
      clock_(clock),
      owner_(owner),
      settings_(settings),
      lookups_(tier, clock, [this](const std::shared_ptr<Fetch>& fetch) { GoOn(fetch); }),
      limit_(settings.concurrency),
      queue_(settings.part_bytes) {}

void FetchScheduler::Launch(const std::shared_ptr<Fetch>& fetch) {
  if (!lookups_.Begin(fetch)) GoOn(fetch);
}

// The store is asked for what the tier has not given. Holds the fetch during the call: its end may come
// before the store returns.
void FetchScheduler::GoOn(const std::shared_ptr<Fetch>& fetch) {
  if (fetch->whole()) return fetch->OnDone(absl::OkStatus());
  if (fetch->handle()->cancellation->cancelled())
    return fetch->OnDone(absl::CancelledError("nobody waits for it any more"));
  const Urgency urgency = fetch->object()->UrgencyOf(*fetch->handle());
  fetch->progress().started = clock_.Elapsed();
  fetch->progress().requested = true;
  std::optional<Urgency>& counted = fetch->handle()->counted_as;
  {
    absl::MutexLock lock(&mu_);
    if (!counted.has_value()) counted = urgency;
    limit_.OnStart(*counted, fetch->size());
  }
  store_.Get(fetch->Request(), fetch.get());
}

void FetchScheduler::StartDemand(const std::shared_ptr<CachedObject>& object, CachedObject::Run run) {
  auto fetch = std::make_shared<Fetch>(owner_, object, std::move(run));
  bytes_in_flight_.fetch_add(fetch->charge(), std::memory_order_relaxed);
  {
    absl::MutexLock lock(&mu_);
    waiting_.push_back(std::move(fetch));
  }
  StartWaiting();
}

std::shared_ptr<Fetch> FetchScheduler::NextWaiting(bool& may_exceed) {
  absl::MutexLock lock(&mu_);
  signals_->PassOn(limit_, clock_.Elapsed());
  if (waiting_.empty() || !limit_.MayStart(Urgency::kDemand, waiting_.front()->size())) return nullptr;
  const uint64_t used = memory_.budget().used() + waiting_.front()->charge();
  may_exceed = running_ == 0 || used <= memory_.budget().limit() + settings_.beyond_memory;
  return waiting_.front();
}

// False: another thread was faster.
bool FetchScheduler::TakeWaiting(const std::shared_ptr<Fetch>& fetch) {
  absl::MutexLock lock(&mu_);
  if (waiting_.empty() || waiting_.front() != fetch) return false;
  waiting_.pop_front();
  started_.insert(fetch);
  ++running_;
  ++alive_;
  return true;
}

// Exceeds the memory a little before it gives up what was fetched ahead: somebody will want that soon, too.
bool FetchScheduler::ReserveDemand(uint64_t bytes, bool may_exceed, Reservation& out) {
  if (memory_.Reserve(bytes, Evict::kRead, out)) return true;
  if (!may_exceed) return memory_.Reserve(bytes, Evict::kAny, out);
  out = memory_.ReserveBeyondLimit(bytes);
  return true;
}

void FetchScheduler::StartWaiting() {
  bool may_exceed = false;
  while (const std::shared_ptr<Fetch> next = NextWaiting(may_exceed)) {
    if (next->handle()->cancellation->cancelled()) {
      if (TakeWaiting(next)) next->OnDone(absl::CancelledError("nobody waits for it any more"));
      continue;
    }
    Reservation reservation;
    if (!ReserveDemand(next->charge(), may_exceed, reservation)) return;
    if (!TakeWaiting(next)) continue;
    next->Pay(std::move(reservation));
    Launch(next);
  }
}

// What is there now may have been read and be gone when its turn comes: it must not be fetched again.
void FetchScheduler::Enqueue(const std::shared_ptr<CachedObject>& object,
                             absl::Span<const ByteRange> ranges) {
  std::vector<ByteRange> absent;
  for (const ByteRange& range : ranges) object->AppendAbsent(range, absent);
  absl::MutexLock lock(&mu_);
  if (stopping_) return;
  queue_.Add(object, absent);
}

void FetchScheduler::DropQueued(CachedObject& object, absl::Span<const ByteRange> ranges) {
  std::vector<PrefetchQueue::Item> dropped;  // Freed after the lock was dropped.
  absl::MutexLock lock(&mu_);
  dropped = queue_.Drop(object, ranges);
}

bool FetchScheduler::TakeQueued(PrefetchQueue::Item& item) {
  absl::MutexLock lock(&mu_);
  signals_->PassOn(limit_, clock_.Elapsed());
  pump_again_ = false;
  if (waiting_.empty()) {
    if (std::optional<PrefetchQueue::Item> next = queue_.Take()) {
      if (limit_.MayStart(Urgency::kPrefetch, next->range.size())) {
        item = *std::move(next);
        return true;
      }
      queue_.PutBack(*std::move(next));
    }
  }
  pumping_ = false;
  return false;
}

uint64_t FetchScheduler::ChargeOf(const CachedObject& object, ByteRange range) const {
  return object.BlocksOf(range) * memory_.Charge(object.LongestBlock());
}

// Reserves for the item, or for as much of its beginning as there is memory for; the item is cut to that.
bool FetchScheduler::ReservePart(PrefetchQueue::Item& item, Reservation& out) {
  while (!memory_.Reserve(ChargeOf(*item.object, item.range), Evict::kRead, out)) {
    if (item.range.size() < 2 * settings_.smallest_part) return false;
    item.range.end = item.range.begin + item.range.size() / 2;
  }
  return true;
}

bool FetchScheduler::StartQueued(PrefetchQueue::Item item) {
  std::vector<ByteRange> absent;
  item.object->AppendAbsent(item.range, absent);
  if (absent.empty()) return true;
  const ByteRange whole = item.range;
  Reservation reservation;
  const bool reserved = ReservePart(item, reservation);
  starved_.store(item.range != whole, std::memory_order_relaxed);
  if (!reserved || item.range != whole) {
    absl::MutexLock lock(&mu_);
    if (!stopping_) queue_.PutBack({item.object, {reserved ? item.range.end : whole.begin, whole.end}});
  }
  if (!reserved) {
    starved_.store(true, std::memory_order_relaxed);
    return false;
  }
  for (CachedObject::Run& run : item.object->Claim(item.range)) {
    auto fetch = std::make_shared<Fetch>(owner_, item.object, std::move(run));
    fetch->Pay(reservation.Split(fetch->charge()));
    bytes_in_flight_.fetch_add(fetch->charge(), std::memory_order_relaxed);
    bool stopping;
    {
      absl::MutexLock lock(&mu_);
      started_.insert(fetch);
      ++running_;
      ++alive_;
      stopping = stopping_;
    }
    if (stopping) fetch->handle()->cancellation->Cancel();
    Launch(fetch);
  }
  return true;
}

// One thread at a time; another one that comes meanwhile has the first look again.
void FetchScheduler::Pump() {
  {
    absl::MutexLock lock(&mu_);
    pump_again_ = true;
    if (pumping_ || queue_.empty()) return;
    pumping_ = true;
  }
  PrefetchQueue::Item item;
  while (TakeQueued(item)) {
    if (StartQueued(std::move(item))) continue;
    absl::MutexLock lock(&mu_);
    if (pump_again_) continue;
    pumping_ = false;
    return;
  }
}

void FetchScheduler::OnRaised(FetchHandle& fetch) {
  absl::MutexLock lock(&mu_);
  if (fetch.counted_as == Urgency::kPrefetch) limit_.OnRaised(fetch.range.size());
  fetch.counted_as = Urgency::kDemand;
}

void FetchScheduler::OnFirstByte(Fetch& fetch) {
  fetch.progress().first_byte = clock_.Elapsed();
  absl::MutexLock lock(&mu_);
  limit_.OnFirstByte(fetch.progress().first_byte - fetch.progress().started);
}

void FetchScheduler::Again(Fetch& fetch) { store_.Get(fetch.Request(), &fetch); }

void FetchScheduler::Retire(Fetch& fetch, const absl::Status& status) {
  bytes_in_flight_.fetch_sub(fetch.charge(), std::memory_order_relaxed);
  const absl::Duration now = clock_.Elapsed();
  const Fetch::Progress& progress = fetch.progress();
  ConcurrencyLimit::End end;
  end.bytes = fetch.size();
  end.received = progress.received;
  end.transfer = progress.received > 0 ? now - progress.first_byte : absl::ZeroDuration();
  end.outcome = status.ok() ? FetchOutcome::kOk : FetchOutcome::kError;
  {
    absl::MutexLock lock(&mu_);
    const std::optional<Urgency> counted =
        fetch.progress().requested ? fetch.handle()->counted_as : std::nullopt;
    end.urgency = counted.value_or(Urgency::kDemand);
    if (counted.has_value()) limit_.OnDone(end, now);
    --running_;
  }
  StartWaiting();
  Pump();
  std::shared_ptr<Fetch> last;
  {
    absl::MutexLock lock(&mu_);
    const auto found = started_.find(&fetch);
    last = *found;
    started_.erase(found);
  }
  last.reset();  // Before the count tells Shutdown that nothing is left.
  absl::MutexLock lock(&mu_);
  --alive_;
}

void FetchScheduler::Shutdown() {
  std::vector<std::shared_ptr<Fetch>> fetches;
  std::vector<PrefetchQueue::Item> dropped;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    dropped = queue_.DropAll();
    fetches.assign(started_.begin(), started_.end());
    fetches.insert(fetches.end(), waiting_.begin(), waiting_.end());
  }
  for (const std::shared_ptr<Fetch>& fetch : fetches) fetch->handle()->cancellation->Cancel();
  lookups_.Stop();
  fetches.clear();
  dropped.clear();
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &FetchScheduler::IdleLocked));
}

size_t FetchScheduler::fetches_in_flight() const {
  absl::MutexLock lock(&mu_);
  return static_cast<size_t>(running_);
}

LinkEstimate FetchScheduler::link() const {
  absl::MutexLock lock(&mu_);
  return limit_.link();
}

}  // namespace bucketvol
