#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "mounter/objstore/object_store.h"
#include "mounter/reader/block_memory.h"
#include "mounter/reader/fetch.h"

namespace bucketvol {

/// Starts fetches as memory allows and keeps them alive until they end.
///
/// Fetches that readers wait for start in their order; one that finds no memory waits for others to end, but
/// a fixed number of them always runs, so that some reader always goes on. Thread-safe.
class FetchScheduler {
 public:
  /// Borrows `store` and `memory`. `beyond_memory` ≥ 1: fetches that run whether there is memory or not.
  FetchScheduler(ObjectStore& store, BlockMemory& memory, int beyond_memory)
      : store_(store), memory_(memory), beyond_memory_(beyond_memory) {}

  /// Starts a fetch that readers wait for, now or later.
  void Start(std::shared_ptr<Fetch> fetch);
  /// Starts a fetch whose memory was paid for.
  void StartPaid(std::shared_ptr<Fetch> fetch);
  /// Takes the end of a fetch, which may be destroyed here. The scheduler may be destroyed as soon as the
  /// last one is in.
  void Retire(const Fetch& fetch);

  /// Cancels every fetch and waits for their ends. No Start may come any more.
  void Shutdown();

  /// Bytes that were asked of the store and are not all there, those of waiting fetches included.
  uint64_t bytes_in_flight() const { return bytes_in_flight_.load(std::memory_order_relaxed); }
  size_t fetches_in_flight() const;

 private:
  void Launch(std::shared_ptr<Fetch> fetch);
  void StartWaiting();
  std::shared_ptr<Fetch> NextWaiting(bool& unconditional) const;
  bool IdleLocked() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return alive_ == 0 && waiting_.empty(); }
  bool TakeWaiting(const std::shared_ptr<Fetch>& fetch);

  ObjectStore& store_;
  BlockMemory& memory_;
  const int beyond_memory_;
  std::atomic<uint64_t> bytes_in_flight_{0};

  mutable absl::Mutex mu_;  // Leaf.
  std::deque<std::shared_ptr<Fetch>> waiting_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<std::shared_ptr<Fetch>> started_ ABSL_GUARDED_BY(mu_);
  int running_ ABSL_GUARDED_BY(mu_) = 0;  // Started, and their end has not come.
  int alive_ ABSL_GUARDED_BY(mu_) = 0;    // Started and not yet destroyed.
};

}  // namespace bucketvol
