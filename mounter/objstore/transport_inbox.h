#pragma once

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mounter/objstore/http_transport.h"
#include "mounter/objstore/poller.h"

namespace bucketvol {

/// What any thread leaves for the thread of an event loop, which sleeps in its Poller.
///
/// Thread-safe but for Take and Awake, which are the loop's. Wakes the loop only when it is (about to be)
/// asleep: a busy loop costs its callers no system call.
class TransportInbox {
 public:
  struct Submission {
    HttpRequest request;
    HttpResponseSink* sink;
  };
  struct Work {
    std::vector<Submission> submissions;
    std::vector<uint64_t> cancelled;  // Ids of requests.
    bool shut_down = false;           // No request shall go on.
    bool stop = false;                // The loop shall end.

    bool empty() const { return submissions.empty() && cancelled.empty(); }
  };

  /// `poller` outlives the inbox.
  explicit TransportInbox(Poller& poller) : poller_(poller) {}

  void Submit(HttpRequest request, HttpResponseSink* sink);
  void Cancel(uint64_t id);
  void ShutDown();
  void Stop();

  /// Gives what has come since. When that is nothing the loop may sleep: the next addition wakes it.
  void Take(Work& work);
  /// The loop no longer sleeps.
  void Awake();

 private:
  void WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Poller& poller_;
  absl::Mutex mu_;  // Leaf.
  bool asleep_ ABSL_GUARDED_BY(mu_) = false;
  Work work_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
