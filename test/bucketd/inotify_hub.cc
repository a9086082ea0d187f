#include "test/bucketd/inotify_hub.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <utility>

namespace bucketvol::bucketd {
namespace {

// An owner that does not ask for so long is told that events were lost.
constexpr size_t kLongestQueue = 100'000;

}  // namespace

InotifyHub::InotifyHub() : inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

int InotifyHub::Add(const std::string& path, uint32_t mask, const void* owner) {
  absl::MutexLock lock(&mu_);
  const int watch = inotify_add_watch(inotify_.get(), path.c_str(), mask);
  if (watch >= 0) owner_of_[watch] = owner;
  return watch;
}

void InotifyHub::Remove(int watch) {
  absl::MutexLock lock(&mu_);
  inotify_rm_watch(inotify_.get(), watch);
  owner_of_.erase(watch);
}

void InotifyHub::RemoveAll(const void* owner) {
  absl::MutexLock lock(&mu_);
  for (auto next = owner_of_.begin(); next != owner_of_.end();) {
    if (next->second != owner) {
      ++next;
      continue;
    }
    inotify_rm_watch(inotify_.get(), next->first);
    next = owner_of_.erase(next);
  }
  queues_.erase(owner);
}

std::vector<InotifyHub::Event> InotifyHub::Take(const void* owner) {
  absl::MutexLock lock(&mu_);
  ReadLocked();
  const auto found = queues_.find(owner);
  return found == queues_.end() ? std::vector<Event>() : std::exchange(found->second, {});
}

void InotifyHub::ReadLocked() {
  alignas(inotify_event) char buffer[16 * 1024];
  for (ssize_t got; (got = read(inotify_.get(), buffer, sizeof(buffer))) > 0;) {
    for (const char* at = buffer; at < buffer + got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      DeliverLocked({event->wd, event->mask, event->len == 0 ? "" : event->name});
    }
  }
}

void InotifyHub::DeliverLocked(Event event) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    for (auto& [owner, queue] : queues_) queue = {event};
    return;
  }
  const auto found = owner_of_.find(event.watch);
  if (found == owner_of_.end()) return;
  const void* owner = found->second;
  if ((event.mask & IN_IGNORED) != 0) owner_of_.erase(found);
  EnqueueLocked(owner, std::move(event));
}

void InotifyHub::EnqueueLocked(const void* owner, Event event) {
  std::vector<Event>& queue = queues_[owner];
  if (queue.size() >= kLongestQueue) {
    queue = {{-1, IN_Q_OVERFLOW, ""}};
  } else {
    queue.push_back(std::move(event));
  }
}

}  // namespace bucketvol::bucketd
