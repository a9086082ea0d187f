#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "mounter/session/fuse_session.h"
#include "test/session/fake_kernel.h"
#include "test/session/test_slots.h"
#include "test/support/virtual_time.h"

namespace bucketvol::testing {

/// Three files, whose reads wait until the test completes them.
class WaitingServer final : public FileServer {
 public:
  struct Waiting {
    FileId file;
    ByteRange range;
    std::unique_ptr<ReadReply> reply;

    void Send(absl::string_view text) { reply->SendData({Piece(text.data(), text.size())}); }
  };

  std::vector<ServedFile> Files() const override {
    return {{"data0", 10 << 20}, {"data1", 4097}, {"empty", 0}};
  }
  void Read(FileId file, ByteRange range, std::unique_ptr<ReadReply> reply) override {
    absl::MutexLock lock(&mu_);
    reads_.push_back({file, range, std::move(reply)});
  }
  Waiting Take() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](std::deque<Waiting>* reads) { return !reads->empty(); }, &reads_));
    Waiting first = std::move(reads_.front());
    reads_.pop_front();
    return first;
  }

 private:
  absl::Mutex mu_;
  std::deque<Waiting> reads_ ABSL_GUARDED_BY(mu_);
};

/// A session that serves on a thread of its own.
class RunningSession {
 public:
  RunningSession(FakeKernel& kernel, RequestSlots& slots, FileServer& server, VirtualTime& time,
                 uint32_t most_attempts = 0)
      : session_(Settings(most_attempts), slots, time, time),
        thread_([this, fd = kernel.SessionEnd(), &server]() mutable {
          result_ = session_.Serve(std::move(fd), server);
        }) {}
  ~RunningSession() {
    if (thread_.joinable()) Stop().IgnoreError();
  }

  FuseSession* operator->() { return &session_; }
  absl::Status Join() {
    thread_.join();
    return result_;
  }
  absl::Status Stop() {
    session_.Stop();
    return Join();
  }

 private:
  static FuseSessionSettings Settings(uint32_t most_attempts) {
    FuseSessionSettings settings;
    settings.threads = 3;
    settings.request_timeout = absl::Seconds(100);
    settings.max_background = 700;
    settings.most_attempts = most_attempts;
    return settings;
  }

  FuseSession session_;
  absl::Status result_ = absl::UnknownError("still serving");
  std::thread thread_;
};

}  // namespace bucketvol::testing
