#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol::bucketd {

/// One inotify instance for any number of users: the kernel allows few per account (128), and many buckets
/// are served at once. Thread-safe; never waits.
class InotifyHub {
 public:
  struct Event {
    int watch = -1;
    uint32_t mask = 0;  // As in inotify(7). IN_Q_OVERFLOW: events were lost, `watch` means nothing.
    std::string name;
  };

  InotifyHub();

  /// Watches `path` for `owner`. Returns the watch, or -1 with errno set.
  int Add(const std::string& path, uint32_t mask, const void* owner);
  void Remove(int watch);
  /// Gives up all watches and events of `owner`.
  void RemoveAll(const void* owner);
  /// What has happened to the watches of `owner` since its last call, in order.
  std::vector<Event> Take(const void* owner);

 private:
  void ReadLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DeliverLocked(Event event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EnqueueLocked(const void* owner, Event event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const UniqueFd inotify_;
  absl::Mutex mu_;  // Leaf.
  std::unordered_map<int, const void*> owner_of_ ABSL_GUARDED_BY(mu_);
  std::unordered_map<const void*, std::vector<Event>> queues_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol::bucketd
