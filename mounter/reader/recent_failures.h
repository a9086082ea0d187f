#pragma once

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/byte_range.h"
#include "mounter/base/clock.h"
#include "mounter/reader/object_id.h"

namespace bucketvol {

/// Remembers for a moment what could not be had after all attempts, so that the same error answers the
/// kernel, which repeats a read at once after its read-ahead has failed: its reader would wait through all
/// attempts a second time.
///
/// Thread-safe. Remembers a bounded number; beyond it a reader may wait twice.
class RecentFailures {
 public:
  /// Borrows `clock`.
  explicit RecentFailures(const Clock& clock) : clock_(clock) {}

  /// The error of reads of `range` without another attempt; OK: ask the store.
  absl::Status Check(const ObjectId& id, ByteRange range) const;
  /// Notes that `range` ended with `error` just now, after `took`: for a second, if that was 10 s or more.
  /// What failed sooner may well be tried again: by chance it succeeds.
  void Note(const ObjectId& id, ByteRange range, const absl::Status& error, absl::Duration took);

 private:
  static constexpr size_t kMost = 10'000;
  struct Entry {
    ByteRange range;
    absl::Status error;
    absl::Duration until;
  };

  const Clock& clock_;
  mutable absl::Mutex mu_;                                             // Leaf.
  absl::flat_hash_map<ObjectId, Entry> entries_ ABSL_GUARDED_BY(mu_);  // The last failure of each object.
  absl::Duration last_until_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
