#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mounter/reader/block.h"
#include "mounter/reader/cached_object.h"

namespace bucketvol {

/// Decides which READY block leaves memory next: the oldest that was not read since its last turn (CLOCK,
/// which behaves like LRU but costs a hit no lock).
///
/// Thread-safe.
class BlockEviction {
 public:
  struct Entry {
    std::shared_ptr<CachedObject> object;
    std::shared_ptr<Block> block;
  };

  void Add(Entry entry);
  /// Takes the next block out; nullopt when there is none.
  std::optional<Entry> Take();
  /// Takes all of them out.
  std::vector<Entry> TakeAll();

 private:
  absl::Mutex mu_;  // Leaf.
  std::deque<Entry> queue_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
