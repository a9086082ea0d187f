#include "mounter/objstore/poller.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "mounter/base/errno_status.h"

namespace bucketvol {
namespace {

constexpr int kEventsPerWait = 64;

int Milliseconds(absl::Duration timeout) {
  if (timeout == absl::InfiniteDuration()) return -1;
  if (timeout <= absl::ZeroDuration()) return 0;
  return static_cast<int>(
      std::min<int64_t>(absl::ToInt64Milliseconds(absl::Ceil(timeout, absl::Milliseconds(1))), 60'000));
}

}  // namespace

absl::StatusOr<Poller> Poller::Make() {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return ErrnoToStatus(errno, "epoll_create1");
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return ErrnoToStatus(errno, "eventfd");
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = wake.get();
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0)
    return ErrnoToStatus(errno, "epoll_ctl");
  return Poller(std::move(epoll), std::move(wake));
}

Poller::Entry& Poller::EntryOf(int fd) {
  if (entries_.size() <= static_cast<size_t>(fd)) entries_.resize(static_cast<size_t>(fd) + 1);
  return entries_[static_cast<size_t>(fd)];
}

void Poller::Opened(int fd) { EntryOf(fd) = {.connection = true}; }

void Poller::Watch(int fd, Interest interest) {
  Entry& entry = EntryOf(fd);
  entry.wanted = (interest.read ? EPOLLIN : 0u) | (interest.write ? EPOLLOUT : 0u);
  if (entry.wanted != 0 && entry.registered != entry.wanted) Register(fd, entry.wanted);
}

void Poller::Forget(int fd) {
  if (static_cast<size_t>(fd) >= entries_.size()) return;
  Entry& entry = entries_[static_cast<size_t>(fd)];
  entry.wanted = 0;
  if (!entry.connection && entry.registered != 0) Register(fd, 0);
}

void Poller::Closing(int fd) {
  if (static_cast<size_t>(fd) >= entries_.size()) return;
  Entry& entry = entries_[static_cast<size_t>(fd)];
  if (entry.registered != 0) Register(fd, 0);  // Another descriptor may keep the connection alive.
  entry = {};
}

void Poller::Register(int fd, uint32_t events) {
  uint32_t& registered = entries_[static_cast<size_t>(fd)].registered;
  const int operation = events == 0 ? EPOLL_CTL_DEL : registered == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  epoll_ctl(epoll_.get(), operation, fd, &event);
  registered = events;
}

void Poller::Wait(absl::Duration timeout, absl::FunctionRef<void(const Event&)> on_event) {
  epoll_event events[kEventsPerWait];
  const int count = epoll_wait(epoll_.get(), events, kEventsPerWait, Milliseconds(timeout));
  for (int i = 0; i < count; ++i) {
    const int fd = events[i].data.fd;
    const uint32_t what = events[i].events;
    if (fd == wake_.get()) {
      eventfd_t ignored;
      eventfd_read(wake_.get(), &ignored);
    } else if (entries_[static_cast<size_t>(fd)].wanted == 0) {
      if (entries_[static_cast<size_t>(fd)].registered != 0) Register(fd, 0);
    } else {
      on_event({fd, (what & EPOLLIN) != 0, (what & EPOLLOUT) != 0, (what & (EPOLLERR | EPOLLHUP)) != 0});
    }
  }
}

void Poller::Wake() { eventfd_write(wake_.get(), 1); }

}  // namespace bucketvol
