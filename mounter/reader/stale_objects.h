#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"
#include "mounter/reader/object_id.h"

namespace bucketvol {

/// Remembers objects whose bytes cannot be had, because they are no longer the version that was indexed or
/// are archived, so that each is logged once and its reads do not cost a request each: the kernel repeats a
/// failed read page by page.
///
/// Thread-safe. Remembers a bounded number; beyond it an object may be counted and logged again.
class StaleObjects {
 public:
  /// Borrows `clock`. A stale object is looked at again after `recheck`.
  StaleObjects(const Clock& clock, absl::Duration recheck) : clock_(clock), recheck_(recheck) {}

  /// The error that the object's reads get without a request; OK: ask the store.
  absl::Status Check(const ObjectId& id) const;
  /// Notes that the store answered `error` just now. True: it was not known before.
  bool Mark(const ObjectId& id, const absl::Status& error);

 private:
  static constexpr size_t kMost = 100'000;
  struct Entry {
    absl::Status error;
    absl::Duration checked;
  };

  const Clock& clock_;
  const absl::Duration recheck_;
  mutable absl::Mutex mu_;  // Leaf.
  absl::flat_hash_map<ObjectId, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
