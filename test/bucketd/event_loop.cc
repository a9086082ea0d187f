#include "test/bucketd/event_loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "test/bucketd/connection.h"

namespace bucketvol::bucketd {
namespace {

// Ids of epoll events that are no connections.
enum : uint64_t { kWakeId, kTimerId, kListenerId, kFirstConnectionId };

void AddToEpoll(int epoll, int fd, uint32_t events, uint64_t id) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = id;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

void DrainCounter(int fd) {
  uint64_t count;
  [[maybe_unused]] const ssize_t got = read(fd, &count, sizeof(count));
}

}  // namespace

EventLoop::EventLoop(ServerContext& context, int number)
    : context_(context),
      number_(number),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      scratch_(kScratchBytes),
      last_id_(kFirstConnectionId) {
  AddToEpoll(epoll_.get(), wake_.get(), EPOLLIN, kWakeId);
  AddToEpoll(epoll_.get(), timer_.get(), EPOLLIN, kTimerId);
}

EventLoop::~EventLoop() {
  stopping_.store(true);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  if (thread_.joinable()) thread_.join();
}

void EventLoop::Start(int listener, std::vector<EventLoop*> peers) {
  listener_ = listener;
  peers_ = std::move(peers);
  if (listener_ >= 0) AddToEpoll(epoll_.get(), listener_, EPOLLIN, kListenerId);
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "bucketd-io");
}

void EventLoop::Post(UniqueFd socket) {
  {
    absl::MutexLock lock(&mu_);
    posted_.push_back(std::move(socket));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
}

int64_t EventLoop::NowNs() const { return absl::ToInt64Nanoseconds(context_.clock.Elapsed()); }

void EventLoop::WakeAt(int64_t when, uint64_t connection) { timers_.emplace(when, connection); }

void EventLoop::Run() {
  epoll_event events[128];
  while (!stopping_.load(std::memory_order_relaxed)) {
    ArmTimer();
    const int count = epoll_wait(epoll_.get(), events, 128, yielded_.empty() ? -1 : 0);
    for (int i = 0; i < count; ++i) HandleEvent(events[i].data.u64, events[i].events);
    RunDueTimers();
    RunYielded();
  }
  connections_.clear();
}

void EventLoop::HandleEvent(uint64_t id, uint32_t events) {
  if (id == kWakeId) {
    DrainCounter(wake_.get());
    AdoptPosted();
  } else if (id == kTimerId) {
    DrainCounter(timer_.get());
    armed_for_ = 0;
  } else if (id == kListenerId) {
    AcceptAll();
  } else if (const auto found = connections_.find(id); found != connections_.end()) {
    found->second->OnEvents((events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0);
    PumpConnection(id);
  }
}

void EventLoop::AcceptAll() {
  for (;;) {
    UniqueFd socket(accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) return;
    context_.application.OnConnection();
    EventLoop* peer = peers_[next_peer_++ % peers_.size()];
    if (peer == this) {
      Adopt(std::move(socket));
    } else {
      peer->Post(std::move(socket));
    }
  }
}

void EventLoop::AdoptPosted() {
  std::vector<UniqueFd> sockets;
  {
    absl::MutexLock lock(&mu_);
    sockets.swap(posted_);
  }
  for (UniqueFd& socket : sockets) Adopt(std::move(socket));
}

void EventLoop::Adopt(UniqueFd socket) {
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const uint64_t id = last_id_++;
  AddToEpoll(epoll_.get(), socket.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, id);
  connections_[id] = std::make_unique<Connection>(std::move(socket), id, *this);
}

void EventLoop::PumpConnection(uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  switch (found->second->Pump()) {
    case Connection::Progress::kWaiting:
      break;
    case Connection::Progress::kYielded:
      yielded_.push_back(id);
      break;
    case Connection::Progress::kClosed:
      connections_.erase(id);
      break;
  }
}

void EventLoop::RunDueTimers() {
  if (timers_.empty()) return;
  const int64_t now = NowNs();
  while (!timers_.empty() && timers_.top().first <= now) {
    const uint64_t id = timers_.top().second;
    timers_.pop();
    PumpConnection(id);
  }
}

void EventLoop::RunYielded() {
  std::vector<uint64_t> ids;
  ids.swap(yielded_);
  for (const uint64_t id : ids) PumpConnection(id);
}

void EventLoop::ArmTimer() {
  if (timers_.empty() || timers_.top().first == armed_for_) return;
  armed_for_ = timers_.top().first;
  const int64_t wait = std::max<int64_t>(armed_for_ - NowNs(), 1);
  itimerspec when = {};
  when.it_value.tv_sec = wait / 1'000'000'000;
  when.it_value.tv_nsec = wait % 1'000'000'000;
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

}  // namespace bucketvol::bucketd
