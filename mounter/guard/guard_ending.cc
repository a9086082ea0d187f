#include "mounter/guard/guard.h"

#include <sys/mount.h>

#include <utility>

#include "mounter/guard/guard_helpers.h"
#include "mounter/guard/monotonic.h"
#include "mounter/guard/mount_table.h"

namespace bucketvol {
namespace {

// Far beyond any umount that makes progress.
constexpr int64_t kUnmountLimitMs = 10'000;
// A dismissed worker stops its requests and removes its unfinished files.
constexpr int64_t kDismissLimitMs = 5'000;

}  // namespace

Step Guard::StartHelper(Job job, const std::vector<int>& keep, int64_t limit_ms,
                        const HelperChild::Work& work) {
  ASSIGN_OR_FAIL(HelperChild helper, HelperChild::Start(keep, work));
  helper_.emplace(std::move(helper));
  job_ = job;
  helper_deadline_ = MonotonicMs() + limit_ms;
  return Nothing{};
}

void Guard::StartNextJob() {
  while (phase_ == Phase::kServing && !helper_ && !orders_.empty()) StartUnmount();
  for (Client& client : clients_) {
    if (phase_ != Phase::kServing || helper_ || finishing_) return;
    if (client.place && client.channel.open()) StartJoin(client);
  }
}

void Guard::OrderUnmount(UnmountOrder order) {
  if (phase_ < Phase::kServing) return Interrupt("unmounted while it was being mounted");
  if (phase_ == Phase::kDetaching && order.force) return EndByForce();
  if (phase_ != Phase::kServing) return;
  for (UnmountOrder& other : orders_) {
    if (other.path != order.path) continue;
    other.flags |= order.flags;
    other.force |= order.force;
    return;
  }
  orders_.push_back(std::move(order));
}

void Guard::OrderUnmountOfAll() {
  TurnJoinsAway();
  for (const Place& place : places_) OrderUnmount({place.path, MNT_DETACH, false});
}

void Guard::StartUnmount() {
  order_ = std::move(orders_.front());
  orders_.pop_front();
  const UnmountOrder order = *order_;
  const Place* place = PlaceAt(order.path);
  if (place == nullptr) return FinishOrder(order, ResultCode::kOk, "");
  const auto top = TopMountAt(ReadMountTable(), order.path);
  if (!top || top->id != place->id) {
    return FinishOrder(order, ResultCode::kBusy, "another file system is mounted over it: " + order.path);
  }
  EndFinishing();
  if (auto started = StartUnmountHelper({order.path}, order.flags); !started.ok())
    FinishOrder(order, ResultCode::kFailed, started.failure().text);
}

Step Guard::StartUnmountHelper(const std::vector<std::string>& paths, int flags) {
  return StartHelper(Job::kUnmount, {}, kUnmountLimitMs,
                     [&](const Channel& parent) { RunUnmount(parent, paths, flags); });
}

void Guard::FinishOrder(const UnmountOrder& order, ResultCode code, const std::string& text) {
  order_.reset();
  for (Client& client : clients_) {
    if (!client.wants_end || client.end_path != order.path) continue;
    client.wants_end = false;
    Report(client.channel, code, text);
  }
}

// The call may still succeed, some day.
void Guard::LeaveUnmount() {
  UnmountOrder order = *order_;
  const bool tried = order.flags != 0;
  order_->flags = MNT_DETACH;
  if (!tried && StartUnmountHelper({order.path}, MNT_DETACH).ok()) return;
  FinishOrder(order, ResultCode::kFailed, "umount hangs in the kernel: " + order.path);
}

void Guard::EndByForce() {
  if (phase_ != Phase::kDetaching) return;
  if (worker_) worker_->Kill();
  AbortConnection();
  if (!worker_) Finish();
}

void Guard::Interrupt(std::string text) {
  TurnJoinsAway();
  Stop(ResultCode::kFailed, std::move(text));
}

void Guard::Stop(ResultCode code, std::string text) {
  if (phase_ == Phase::kEnding || phase_ == Phase::kDone) return;
  phase_ = Phase::kEnding;
  result_ = code;
  result_text_ = std::move(text);
  DismissWorker();
}

// Worker first: with its end every waiting reader, and every helper in a system call, gets an error and goes
// on.
void Guard::AdvanceEnding() {
  DropStandby();
  if (worker_) return;
  AbortConnection();
  if (helper_) return;
  EndFinishing();
  const std::vector<MountEntry> table = ReadMountTable();
  std::vector<std::string> mounted;
  for (const Place& place : places_) {
    if (IsIn(table, place)) mounted.push_back(place.path);
  }
  if (!mounted.empty() && StartUnmountHelper(mounted, MNT_DETACH).ok()) return;
  Finish();
}

void Guard::AbortConnection() {
  refuser_.reset();
  fuse_.mount.Reset();
  fuse_.Abort();
}

void Guard::DismissWorker() {
  if (!worker_) return;
  worker_->Dismiss();
  if (worker_deadline_ == 0) worker_deadline_ = MonotonicMs() + kDismissLimitMs;
}

// It holds the loop devices open for as long as it runs.
void Guard::EndFinishing() {
  if (finishing_) finishing_->End();
  finishing_.reset();
}

void Guard::Finish() {
  phase_ = Phase::kDone;
  DropStandby();
  EndFinishing();
  AbortConnection();
  meta_.Reset();
  cgroup_.Remove();
  places_.clear();
  source_locks_.clear();
  run_directory_.reset();
  if (control_.open()) Report(control_, result_, result_text_);
  AnswerUnmounts(ResultCode::kOk, "");
  for (const auto wanted : {&Client::wants_upgrade, &Client::wants_revival, &Client::wants_credentials})
    Answer(wanted, ResultCode::kFailed, "the mount has ended");
  for (Client& client : clients_) {
    if (client.place && result_ != ResultCode::kOk) Report(client.channel, result_, result_text_);
  }
}

}  // namespace bucketvol
