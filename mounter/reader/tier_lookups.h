#pragma once

#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"
#include "mounter/cache/block_tier.h"
#include "mounter/reader/fetch.h"

namespace bucketvol {

/// Has fetches look into the tier below the memory before they ask the store.
///
/// Thread-safe. Calls tier, fetches and the scheduler without its lock.
class TierLookups {
 public:
  /// Takes a fetch that has got from the tier what it had.
  using Next = std::function<void(const std::shared_ptr<Fetch>&)>;

  /// Borrows both. `tier`: null is none.
  TierLookups(BlockTier* tier, const Clock& clock, Next next);

  /// Asks the tier for the fetch, and calls `next` once: in this call, from a thread of the tier, or from
  /// Tick. False, without any call: there is no tier, or it is left alone now.
  bool Begin(const std::shared_ptr<Fetch>& fetch);
  /// Goes on without the tier where it takes too long, and leaves it alone then.
  void Tick();
  /// Goes on without the tier everywhere, for ever.
  void Stop();

 private:
  static constexpr absl::Duration kTooLong = absl::Seconds(1);
  static constexpr absl::Duration kLeftAlone = absl::Seconds(30);
  class Lookup;

  bool UsableLocked() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void End(Lookup& lookup);

  BlockTier* const tier_;
  const Clock& clock_;
  const Next next_;
  mutable absl::Mutex mu_;  // Leaf.
  absl::flat_hash_set<std::shared_ptr<Lookup>> open_ ABSL_GUARDED_BY(mu_);
  absl::Duration alone_until_ ABSL_GUARDED_BY(mu_) = -absl::InfiniteDuration();
};

}  // namespace bucketvol
