#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "mounter/base/clock.h"
#include "mounter/cache/memory_tier.h"
#include "mounter/objstore/object_store.h"
#include "mounter/prefetch/concurrency_limit.h"
#include "mounter/reader/fetch.h"
#include "mounter/reader/load_signals.h"
#include "mounter/reader/prefetch_queue.h"
#include "mounter/reader/tier_lookups.h"

namespace bucketvol {

/// Starts fetches as memory and link allow, and keeps them alive until they end.
///
/// What readers wait for goes first, in its order, and is held back by the memory alone; it may exceed that a
/// little, and one fetch always runs, so that some reader always goes on. What is fetched ahead starts while
/// nothing of that waits, within the limit of concurrency and with memory that was read already.
///
/// Thread-safe. Calls store, memory and objects without its lock.
class FetchScheduler {
 public:
  struct Settings {
    uint64_t beyond_memory = 32 << 20;  // Bytes by which what readers wait for may exceed the memory.
    uint64_t part_bytes = 8 << 20;      // Longest GET of what is fetched ahead.
    uint64_t smallest_part = 1 << 20;   // To which it is cut down where memory is short.
    ConcurrencySettings concurrency;
  };

  /// Borrows everything. `tier`: asked before the store; null is none.
  FetchScheduler(ObjectStore& store, BlockTier* tier, MemoryTier& memory, const Clock& clock,
                 Fetch::Owner& owner, const Settings& settings);

  /// Starts a fetch that readers wait for, now or later.
  void StartDemand(const std::shared_ptr<CachedObject>& object, CachedObject::Run run);
  /// Fetches what is ABSENT of these ranges, now and when its turn comes.
  void Enqueue(const std::shared_ptr<CachedObject>& object, absl::Span<const ByteRange> ranges);
  /// Takes back what Enqueue was given and has not begun.
  void DropQueued(CachedObject& object, absl::Span<const ByteRange> ranges);
  /// Starts what may be started: after memory has become free.
  void Pump();
  /// Goes on without the tier where it does not answer. About once a second.
  void Tick() { lookups_.Tick(); }
  /// Whether something waits for memory only.
  bool starved() const { return starved_.load(std::memory_order_relaxed); }

  /// Somebody waits now for a fetch that nobody waited for.
  void OnRaised(FetchHandle& fetch);
  void OnFirstByte(Fetch& fetch);
  /// Makes the request of a fetch again, whose end the store has told.
  void Again(Fetch& fetch);
  /// Takes the end of a fetch, which may be destroyed here. The scheduler may be destroyed as soon as the
  /// last one is in.
  void Retire(Fetch& fetch, const absl::Status& status);

  /// Cancels every fetch and waits for their ends. No Start may come any more.
  void Shutdown();

  /// Bytes of memory that fetches will fill, those of waiting fetches included.
  uint64_t bytes_in_flight() const { return bytes_in_flight_.load(std::memory_order_relaxed); }
  size_t fetches_in_flight() const;
  LinkEstimate link() const;
  /// Hears what the store is told of the load. May be kept for longer than this.
  const std::shared_ptr<LoadSignals>& load_signals() const { return signals_; }

 private:
  void Launch(const std::shared_ptr<Fetch>& fetch);
  void GoOn(const std::shared_ptr<Fetch>& fetch);
  void StartWaiting();
  std::shared_ptr<Fetch> NextWaiting(bool& may_exceed);
  bool TakeWaiting(const std::shared_ptr<Fetch>& fetch);
  bool ReserveDemand(uint64_t bytes, bool may_exceed, Reservation& out);
  bool TakeQueued(PrefetchQueue::Item& item);
  bool StartQueued(PrefetchQueue::Item item);
  bool ReservePart(PrefetchQueue::Item& item, Reservation& out);
  uint64_t ChargeOf(const CachedObject& object, ByteRange range) const;
  bool IdleLocked() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return alive_ == 0 && waiting_.empty(); }

  ObjectStore& store_;
  MemoryTier& memory_;
  const Clock& clock_;
  Fetch::Owner& owner_;
  const Settings settings_;
  TierLookups lookups_;
  std::atomic<uint64_t> bytes_in_flight_{0};
  std::atomic<bool> starved_{false};
  const std::shared_ptr<LoadSignals> signals_ = std::make_shared<LoadSignals>();

  mutable absl::Mutex mu_;  // Leaf.
  ConcurrencyLimit limit_ ABSL_GUARDED_BY(mu_);
  PrefetchQueue queue_ ABSL_GUARDED_BY(mu_);
  bool pumping_ ABSL_GUARDED_BY(mu_) = false;
  bool pump_again_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<std::shared_ptr<Fetch>> waiting_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<std::shared_ptr<Fetch>> started_ ABSL_GUARDED_BY(mu_);
  int running_ ABSL_GUARDED_BY(mu_) = 0;  // Started, and their end has not come.
  int alive_ ABSL_GUARDED_BY(mu_) = 0;    // Started and not yet destroyed.
};

}  // namespace bucketvol
