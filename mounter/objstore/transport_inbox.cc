#include "mounter/objstore/transport_inbox.h"

#include <utility>

namespace bucketvol {

void TransportInbox::WakeLocked() {
  if (asleep_) poller_.Wake();
  asleep_ = false;
}

void TransportInbox::Submit(HttpRequest request, HttpResponseSink* sink) {
  absl::MutexLock lock(&mu_);
  work_.submissions.push_back({std::move(request), sink});
  WakeLocked();
}

void TransportInbox::Cancel(uint64_t id) {
  absl::MutexLock lock(&mu_);
  work_.cancelled.push_back(id);
  WakeLocked();
}

void TransportInbox::ShutDown() {
  absl::MutexLock lock(&mu_);
  work_.shut_down = true;
  WakeLocked();
}

void TransportInbox::Stop() {
  absl::MutexLock lock(&mu_);
  work_.shut_down = work_.stop = true;
  WakeLocked();
}

void TransportInbox::Take(Work& work) {
  work.submissions.clear();
  work.cancelled.clear();
  absl::MutexLock lock(&mu_);
  work.submissions.swap(work_.submissions);
  work.cancelled.swap(work_.cancelled);
  work.shut_down = work_.shut_down;
  work.stop = work_.stop;
  asleep_ = work.empty();
}

void TransportInbox::Awake() {
  absl::MutexLock lock(&mu_);
  asleep_ = false;
}

}  // namespace bucketvol
