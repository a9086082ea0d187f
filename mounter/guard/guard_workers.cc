// Who serves: the first worker, those that wait for their turn, and nobody.

#include <algorithm>
#include <utility>

#include "mounter/guard/guard.h"
#include "mounter/guard/guard_log.h"
#include "mounter/guard/monotonic.h"
#include "mounter/guard/worker_program.h"

namespace bucketvol {
namespace {

// Opening an index takes milliseconds; on a machine that is starved, more.
constexpr int64_t kReadyLimitMs = 30'000;
constexpr int64_t kShortestReadyLimitMs = 3'000;
// What a worker that is replaced has not answered by then its successor fetches again.
constexpr int64_t kDrainLimitMs = 1'000;
// A standby that fails to become ready is not what reads wait for.
constexpr int64_t kStandbyPauseMs = 5'000;
// What waits for its turn unused may be stopped, or stuck, without anybody noticing.
constexpr int64_t kStandbyCheckMs = 5'000;
// A heart beats twice a second. Whoever is starved of CPU that long is as good as stuck.
constexpr int64_t kStallMs = 10'000;
// The worker answers what is too old itself; it has so much time to do it, from when it was told to serve.
constexpr int64_t kOverdueMs = 3'000;
// A worker that was ready needs no time to begin.
constexpr int64_t kFirstBeatMs = 3'000;
// Whoever reads the connection sees its end at once.
constexpr int64_t kSeesEndMs = 1'000;
constexpr int64_t kShortestCheckMs = 250;

std::vector<int> NumbersOf(const std::vector<UniqueFd>& descriptors) {
  std::vector<int> numbers;
  numbers.reserve(descriptors.size());
  for (const UniqueFd& fd : descriptors) numbers.push_back(fd.get());
  return numbers;
}

std::string Seconds(int64_t ms) { return std::to_string((ms + 500) / 1000) + " s"; }

}  // namespace

Step Guard::StartFirst() {
  std::string why;
  auto slots = RequestSlots::Create({}, why);
  if (!slots) return Failure{0, why};
  slots_.emplace(std::move(*slots));
  ASSIGN_OR_FAIL(worker_, Launch(WorkerRole::kFirst, worker_program_));
  return Serve(*worker_);
}

Outcome<WorkerProcess> Guard::Launch(WorkerRole role, const std::string& program) {
  RETURN_IF_FAILED(HoldProgram(program, program == worker_program_ ? program_lock_ : upgrade_lock_));
  ASSIGN_OR_FAIL(WorkerProcess worker, WorkerProcess::Start(program, cgroup_));
  StartBody body;
  body.generation = ++generation_;
  body.role = role;
  std::vector<int> descriptors = NumbersOf(legacy_);
  descriptors.insert(descriptors.begin(), slots_->memory().get());
  RETURN_IF_FAILED(worker.channel().Send(
      EncodeMessage(MessageType::kStart, body, {spec_.bytes(), plan_.meta_path}), descriptors));
  return worker;
}

// From here on it alone takes requests.
Step Guard::Serve(WorkerProcess& worker) {
  ServeBody body;
  body.generation = generation_;
  body.most_attempts = restarts_.MostAttempts();
  slots_->header().generation.store(body.generation, std::memory_order_release);
  return worker.channel().Send(EncodeMessage(MessageType::kServe, body), {fuse_.device.get()});
}

void Guard::OnServing() {
  serving_ = true;
  serving_since_ = MonotonicMs();
  WatchProgress();
  if (phase_ == Phase::kServing && !standby_) standby_at_ = serving_since_;
  Answer(&Client::wants_revival, ResultCode::kOk, "");
}

int64_t Guard::ReadyLimitMs() const {
  return std::clamp(request_limit_ms_, kShortestReadyLimitMs, kReadyLimitMs);
}

void Guard::StartStandby() {
  if (standby_ || refuser_ || phase_ < Phase::kUncommitted || phase_ > Phase::kDetaching) return;
  standby_ready_ = false;
  auto started = Launch(WorkerRole::kSuccessor, upgrade_.empty() ? worker_program_ : upgrade_);
  if (started.ok()) {
    standby_.emplace(std::move(started.value()));
    standby_deadline_ = MonotonicMs() + ReadyLimitMs();
    return;
  }
  if (!upgrade_.empty()) FailUpgrade(started.failure().text);
  if (!worker_) return Replace(started.failure().text, 0);
  GuardLog("warning: no worker can be kept ready: " + started.failure().text);
  standby_at_ = MonotonicMs() + kStandbyPauseMs;
}

void Guard::OnStandbyMessage() {
  Message message;
  const Channel::Received received = standby_->channel().Receive(message);
  if (received == Channel::Received::kClosed) return standby_->Dismiss();
  if (received == Channel::Received::kNothing) return;
  if (message.Is(MessageType::kWorkerFailed)) {
    last_words_ = message.Strings(1)[0];
  } else if (message.Is(MessageType::kWorkerStatusReply)) {
    standby_asked_ = false;
    AwaitStandbyCheck();
  } else if (message.Is(MessageType::kReady)) {
    standby_ready_ = true;
    AwaitStandbyCheck();
    if (!worker_ && standby_at_ == 0) return Promote();
    if (!worker_ || upgrade_.empty()) return;
    draining_ = true;
    (void)worker_->channel().Send(EncodePacket(MessageType::kDrain, "", "")).ok();
    worker_deadline_ = MonotonicMs() + kDrainLimitMs;
  }
}

void Guard::OnStandbyExit() {
  const std::string how = standby_->Reap();
  const bool was_ready = standby_ready_;
  standby_.reset();
  ForgetStandby();
  const std::string why = last_words_.empty() ? how : how + ": " + std::exchange(last_words_, "");
  if (!upgrade_.empty()) FailUpgrade("the new worker ended before it was ready: " + why);
  if (draining_) return;  // The end of the other one is seen next.
  if (!worker_) return Replace(why, 0);
  GuardLog("warning: the worker that was kept ready ended: " + why);
  standby_at_ = MonotonicMs() + (was_ready ? 0 : kStandbyPauseMs);
}

void Guard::TakeOver() {
  if (standby_ready_) return Promote();
  if (!standby_) StartStandby();  // Else it is on its way.
}

void Guard::Promote() {
  worker_.emplace(std::move(*standby_));
  standby_.reset();
  ForgetStandby();
  if (!upgrade_.empty()) {
    worker_program_ = std::exchange(upgrade_, "");
    program_lock_ = std::move(upgrade_lock_);
    GuardLog("upgraded to " + worker_program_);
    Answer(&Client::wants_upgrade, ResultCode::kOk, "");
  }
  WatchProgress();
  // A failure shows as the worker's exit.
  if (auto served = Serve(*worker_); !served.ok()) worker_->Kill();
}

void Guard::Replace(const std::string& how, int64_t served_ms) {
  ++restart_count_;
  last_error_ = "worker ended: " + how;
  if (!last_words_.empty()) last_error_ += ": " + std::exchange(last_words_, "");
  const auto delay = restarts_.DelayAfter(served_ms, MonotonicMs());
  // Readers wait for the next worker, nobody for the log.
  const std::string line = "warning: " + last_error_ + (delay ? "; another one takes over" : "");
  if (delay == 0) TakeOver();
  GuardLog(line);
  if (!delay) return Degrade();
  if (*delay > 0) standby_at_ = MonotonicMs() + *delay;
}

void Guard::Degrade() {
  DropStandby();
  standby_at_ = 0;
  refuser_.emplace(fuse_.device, *slots_);
  GuardLog("error: workers end as soon as they start: every read fails from now on");
  Answer(&Client::wants_revival, ResultCode::kFailed, last_error_);
}

void Guard::Revive(const std::string& program, const std::string& spec) {
  if (!program.empty()) worker_program_ = program;
  if (!spec.empty()) spec_ = SecretPages(spec);
  refuser_.reset();
  restarts_.Reset();
  GuardLog("workers are started again");
  TakeOver();
}

void Guard::Upgrade(const std::string& program) {
  DropStandby();
  upgrade_ = program;
  StartStandby();
}

void Guard::FailUpgrade(const std::string& why) {
  upgrade_.clear();
  GuardLog("warning: not upgraded: " + why);
  Answer(&Client::wants_upgrade, ResultCode::kFailed, why + "; the old one goes on serving");
}

void Guard::OnRefusable() {
  if (refuser_->RefuseSome()) return;
  AbortConnection();
  if (phase_ == Phase::kDetaching || !IsMounted()) return Finish();
}

void Guard::DropStandby() {
  standby_at_ = 0;
  ForgetStandby();
  if (standby_) standby_->KillAndAwait();
  standby_.reset();
}

void Guard::ForgetStandby() {
  standby_ready_ = standby_asked_ = false;
  standby_deadline_ = standby_check_ = 0;
}

void Guard::AwaitStandbyCheck() {
  standby_deadline_ = 0;
  standby_check_ = MonotonicMs() + std::min(kStandbyCheckMs, request_limit_ms_);
}

// Any question does that any version answers.
void Guard::AskStandby() {
  if (!standby_) return;
  standby_asked_ = true;
  standby_deadline_ = MonotonicMs() + std::min(kStallMs, request_limit_ms_);
  (void)standby_->channel().Send(EncodeMessage(MessageType::kWorkerStatus, WorkerStatusBody{})).ok();
}

void Guard::KillLateStandby() {
  if (!standby_) return;
  if (standby_asked_) return standby_->KillFor("killed, because it did not answer");
  standby_->KillFor("killed, because it was not ready after " + Seconds(ReadyLimitMs()));
}

void Guard::WatchProgress() {
  beat_ = slots_->header().beat.load(std::memory_order_relaxed);
  beat_since_ = watched_since_ = progress_check_ = MonotonicMs();
}

void Guard::CheckProgress() {
  if (!worker_) return;
  const int64_t now = MonotonicMs();
  progress_check_ = now + kShortestCheckMs;
  if (phase_ == Phase::kDetaching && fuse_.Ended()) {
    if (worker_deadline_ == 0) worker_deadline_ = now + kSeesEndMs;
    return;
  }
  if (const std::string stall = StallOf(now); !stall.empty()) return worker_->KillFor(stall);
  if (serving_ && phase_ != Phase::kDetaching)
    progress_check_ = now + std::max(std::min(kStallMs, request_limit_ms_) / 4, kShortestCheckMs);
}

std::string Guard::StallOf(int64_t now) {
  const uint64_t beat = slots_->header().beat.load(std::memory_order_relaxed);
  if (beat != beat_) {
    beat_ = beat;
    beat_since_ = now;
  }
  const int64_t limit = serving_ ? std::min(kStallMs, request_limit_ms_) : kFirstBeatMs;
  if (now - beat_since_ > limit)
    return "killed, because it made no progress for " + Seconds(now - beat_since_);
  for (const uint32_t index : slots_->Taken()) {
    const int64_t taken_ms = slots_->slot(index).taken_ms.load(std::memory_order_relaxed);
    if (taken_ms != 0 && now - std::max(taken_ms + request_limit_ms_, watched_since_) > kOverdueMs)
      return "killed, because a request was not answered for " + Seconds(now - taken_ms);
  }
  return "";
}

}  // namespace bucketvol
