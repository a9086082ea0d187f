#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <queue>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "mounter/base/clock.h"
#include "mounter/base/unique_fd.h"
#include "test/bucketd/http_server.h"
#include "test/bucketd/pacer.h"

namespace bucketvol::bucketd {

class Connection;

/// What the connections of all loops share.
struct ServerContext {
  ServerContext(Application& the_application, const Clock& the_clock, ssl_ctx_st* the_tls)
      : application(the_application), clock(the_clock), tls(the_tls) {}

  Application& application;
  const Clock& clock;
  ssl_ctx_st* tls;
  Pacer total_pacer;
};

/// One thread that serves its connections. Post is thread-safe; everything else is for the loop's own thread.
class EventLoop {
 public:
  static constexpr size_t kScratchBytes = 256 * 1024;

  EventLoop(ServerContext& context, int number);
  /// Stops the thread and closes its connections.
  ~EventLoop();

  /// Starts the thread. With a valid `listener` (borrowed) it also accepts, dealing out connections to
  /// `peers` in turn.
  void Start(int listener, std::vector<EventLoop*> peers);
  /// Hands over a new connection.
  void Post(UniqueFd socket);

  ServerContext& context() { return context_; }
  int number() const { return number_; }
  int64_t NowNs() const;
  /// Runs the connection again at `when` (on the clock of NowNs), or sooner.
  void WakeAt(int64_t when, uint64_t connection);
  /// Space for one operation; its content is gone when another connection runs.
  absl::Span<char> scratch() { return absl::MakeSpan(scratch_); }

 private:
  void Run();
  void HandleEvent(uint64_t id, uint32_t events);
  void AcceptAll();
  void AdoptPosted();
  void Adopt(UniqueFd socket);
  void PumpConnection(uint64_t id);
  void RunDueTimers();
  void RunYielded();
  void ArmTimer();

  ServerContext& context_;
  const int number_;
  const UniqueFd epoll_;
  const UniqueFd wake_;   // eventfd
  const UniqueFd timer_;  // timerfd: finer than the milliseconds of epoll_wait.
  std::vector<char> scratch_;
  int listener_ = -1;
  std::vector<EventLoop*> peers_;
  size_t next_peer_ = 0;

  uint64_t last_id_;
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections_;
  using Timer = std::pair<int64_t, uint64_t>;  // Time, connection.
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  int64_t armed_for_ = 0;          // What timer_ is set to; 0: off.
  std::vector<uint64_t> yielded_;  // Have more to do, but gave way.

  std::atomic<bool> stopping_{false};
  absl::Mutex mu_;
  std::vector<UniqueFd> posted_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace bucketvol::bucketd
