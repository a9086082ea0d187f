#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mounter/reader/cached_object.h"

namespace bucketvol {

/// Keeps the objects alive that have streams: what is known of their readers must outlive their blocks.
/// Thread-safe.
class StreamingObjects {
 public:
  void Add(std::shared_ptr<CachedObject> object) {
    absl::MutexLock lock(&mu_);
    objects_.push_back(std::move(object));
  }
  std::vector<std::shared_ptr<CachedObject>> TakeAll() {
    absl::MutexLock lock(&mu_);
    return std::exchange(objects_, {});
  }

 private:
  absl::Mutex mu_;  // Leaf.
  std::vector<std::shared_ptr<CachedObject>> objects_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
