#include "mounter/guard/guard.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "mounter/guard/guard_helpers.h"
#include "mounter/guard/guard_log.h"
#include "mounter/guard/monotonic.h"
#include "mounter/guard/open_here.h"

namespace bucketvol {
namespace {

// A worker that answers opens a data file in microseconds; a mount reads a few blocks from the local disk.
constexpr int64_t kAttachLimitMs = 30'000;
// Once its connection has ended, a call has nothing more to wait for.
constexpr int64_t kAbortLimitMs = 5'000;
// After a plain umount the superblock goes at once, unless somebody elsewhere still uses it.
constexpr int64_t kDetachLimitMs = 3'000;
// After a lazy one somebody is expected to.
constexpr int64_t kLazyDetachLimitMs = 300;

}  // namespace

void Guard::OnControl() {
  Message message;
  switch (control_.Receive(message)) {
    case Channel::Received::kNothing:
      return;
    case Channel::Received::kClosed:
      return OnCommandGone();
    case Channel::Received::kMessage:
      break;
  }
  if (!message.Is(MessageType::kCommit) || phase_ != Phase::kUncommitted) return;
  phase_ = Phase::kServing;
  standby_at_ = MonotonicMs();
  // A reader may have ended the connection meanwhile.
  OnMountTableChange();
}

void Guard::OnCommandGone() {
  control_.Close();
  const bool settled = phase_ == Phase::kServing || phase_ == Phase::kDetaching;
  if (!settled || foreground_) Interrupt("interrupted");
}

void Guard::OnWorkerMessage() {
  Message message;
  const Channel::Received received = worker_->channel().Receive(message);
  if (received == Channel::Received::kClosed) return DismissWorker();
  if (received == Channel::Received::kNothing) return;
  if (message.Is(MessageType::kCredentialsChecked)) return OnCredentialsChecked(message);
  if (message.Is(MessageType::kProgress)) {
    TellCommands(MessageType::kProgress, message);
  } else if (message.Is(MessageType::kWarning)) {
    TellCommands(MessageType::kWarning, message);
  } else if (message.Is(MessageType::kImage)) {
    OnImage(std::move(message));
  } else if (message.Is(MessageType::kWorkerFailed)) {
    last_words_ = message.Strings(1)[0];
    if (phase_ < Phase::kUncommitted) Stop(message.BodyAs<ResultBody>().code, last_words_);
  } else if (message.Is(MessageType::kWorkerStatusReply)) {
    document_ = message.Strings(1)[0];
    if (message.BodyAs<WorkerStatusBody>().request == status_request_) AnswerStatus();
  } else if (message.Is(MessageType::kServing)) {
    OnServing();
  }
}

void Guard::OnImage(Message message) {
  if (phase_ != Phase::kBuilding || helper_) return;
  if (message.descriptors.size() < 2) return Stop(ResultCode::kFailed, "worker sent no metadata image");
  plan_.devices = message.BodyAs<ImageBody>().devices;
  plan_.meta_path = message.Strings(1)[0];
  auto meta = OpenHere(plan_.meta_path, message.descriptors.front());
  if (!meta.ok()) return Stop(ResultCode::kFailed, meta.failure().text);
  meta_ = std::move(meta.value());
  message.descriptors.erase(message.descriptors.begin(), message.descriptors.begin() + 2);
  legacy_ = std::move(message.descriptors);
  phase_ = Phase::kAttaching;
  const auto attach = [this](const Channel& parent) { RunAttach(parent, plan_, meta_, fuse_.mount); };
  auto started = StartHelper(Job::kAttach, {meta_.get(), fuse_.mount.get()}, kAttachLimitMs, attach);
  if (!started.ok()) Stop(ResultCode::kFailed, started.failure().text);
}

void Guard::OnWorkerExit() {
  const int64_t served_ms = serving_ ? MonotonicMs() - serving_since_ : 0;
  const std::string how = worker_->Reap();
  const bool drained = std::exchange(draining_, false);
  // What it said last may still lie in the socket.
  Message message;
  while (worker_->channel().open() && worker_->channel().Receive(message) == Channel::Received::kMessage) {
    if (message.Is(MessageType::kWorkerFailed)) last_words_ = message.Strings(1)[0];
  }
  worker_.reset();
  worker_deadline_ = 0;
  serving_ = false;
  AnswerStatus();
  AnswerCredentials(ResultCode::kFailed, "worker ended before it could check the credentials; try again");
  switch (phase_) {
    case Phase::kBuilding:
    case Phase::kAttaching:
      AbortConnection();
      return Stop(ResultCode::kFailed,
                  last_words_.empty() ? "worker ended unexpectedly: " + how : last_words_);
    case Phase::kUncommitted:
    case Phase::kServing:
      if (!fuse_.Ended()) return drained ? TakeOver() : Replace(how, served_ms);
      AbortConnection();
      if (phase_ == Phase::kUncommitted) return Stop(ResultCode::kFailed, "the FUSE connection has ended");
      if (!IsMounted()) return Finish();
      last_error_ = "the FUSE connection has ended";
      GuardLog("error: " + last_error_ + "; reads fail from now on");
      return DropStandby();
    case Phase::kDetaching:
      return fuse_.Ended() ? Finish() : drained ? TakeOver() : Replace(how, served_ms);
    case Phase::kEnding:
    case Phase::kDone:
      return;
  }
}

void Guard::OnHelper() {
  Message report;
  const Channel::Received received = helper_->Receive(report);
  if (received == Channel::Received::kNothing) return;
  if (received == Channel::Received::kClosed) helper_->Reap();
  helper_deadline_ = 0;
  finishing_ = std::move(helper_);
  helper_.reset();
  if (received == Channel::Received::kClosed) {
    HelperReport lost;
    lost.code = ResultCode::kFailed;
    (void)DecodePacket(EncodeMessage(MessageType::kResult, lost, {"helper process ended unexpectedly"}),
                       report);
  }
  if (job_ == Job::kUnmount) return OnUnmounted(report);
  if (phase_ == Phase::kEnding) return OnAttachedLate(report);
  return job_ == Job::kAttach ? OnAttached(report) : OnJoined(report);
}

void Guard::OnHelperLate() {
  // What is mounted elsewhere too waits for no worker.
  const bool may_wait = job_ == Job::kAttach || (job_ == Job::kUnmount && places_.size() <= 1);
  if (may_wait && !helper_given_up_) {
    GuardLog("error: a kernel call takes too long; the FUSE connection is ended");
    last_error_ = "kernel call took too long; reads were given up";
    helper_given_up_ = true;
    helper_deadline_ = MonotonicMs() + kAbortLimitMs;
    if (worker_) worker_->Kill();
    return AbortConnection();
  }
  // Not even that helped: leave it to the kernel, and take the mount out of sight at least.
  helper_.reset();
  if (job_ == Job::kUnmount && phase_ == Phase::kServing) return LeaveUnmount();
  if (job_ == Job::kJoin && phase_ == Phase::kServing) {
    const Place place = *std::exchange(joining_, std::nullopt);
    AnswerJoin(ResultCode::kFailed, place.path, "mount hangs in the kernel: " + place.path);
  }
  if (phase_ == Phase::kAttaching) Stop(ResultCode::kFailed, "mount hangs in the kernel");
  if (phase_ == Phase::kEnding) Finish();
}

void Guard::OnHelperEnd() {
  Message message;
  if (finishing_->Receive(message) != Channel::Received::kClosed) return;
  finishing_->Reap();
  finishing_.reset();
}

void Guard::OnAttached(const Message& report) {
  const auto body = report.BodyAs<HelperReport>();
  // From here on the connection lives as long as the image is mounted, not as long as this process: the
  // image's data devices hold it. Where there are none, this process does.
  if (plan_.devices > 0) fuse_.mount.Reset();
  meta_.Reset();
  if (body.code != ResultCode::kOk) return Stop(ResultCode::kFailed, report.Strings(1)[0]);
  places_.front().id = body.mount_id;
  places_.front().device = body.device;
  phase_ = Phase::kUncommitted;
  Report(control_, ResultCode::kOk, "");
}

// The mount was being made when the end came.
void Guard::OnAttachedLate(const Message& report) {
  const auto body = report.BodyAs<HelperReport>();
  if (body.code != ResultCode::kOk) return;
  if (joining_) places_.push_back(*std::exchange(joining_, std::nullopt));
  if (places_.empty()) return;
  places_.back().id = body.mount_id;
  places_.back().device = body.device;
}

void Guard::OnUnmounted(const Message& report) {
  const auto body = report.BodyAs<HelperReport>();
  if (phase_ == Phase::kEnding) {
    if (body.code != ResultCode::kOk) places_.clear();  // Not ours to take down any more, or no longer there.
    return;
  }
  if (phase_ == Phase::kServing) DropGonePlaces();
  const UnmountOrder order = *std::exchange(order_, std::nullopt);
  if (phase_ == Phase::kServing) return OnUnmountedOne(order, body.code, report.Strings(1)[0]);
  detach_deadline_ = MonotonicMs() + (order.flags == 0 ? kDetachLimitMs : kLazyDetachLimitMs);
  if (order.force) EndByForce();
}

// The source is still mounted somewhere: there, if that failed.
void Guard::OnUnmountedOne(const UnmountOrder& order, ResultCode code, const std::string& why) {
  if (PlaceAt(order.path) == nullptr) {
    const bool told = order.force;
    return FinishOrder(order, ResultCode::kOk,
                       told ? "open files go on: the source is also mounted at " + places_.front().path : "");
  }
  if (code != ResultCode::kBusy)
    return FinishOrder(order, ResultCode::kFailed, "umount " + order.path + ": " + why);
  FinishOrder(
      order, code,
      "mount point is in use: " + order.path + " (see who: fuser -vm " + order.path + "; or umount --lazy)");
}

void Guard::StartDetaching() {
  phase_ = Phase::kDetaching;
  progress_check_ = MonotonicMs();
  orders_.clear();
  TurnJoinsAway();
  GiveUpOwnership();
  // Where nobody serves, nobody elsewhere has anything from going on; and without a worker the end of the
  // connection shows here only.
  if (!worker_ && (refuser_ || fuse_.Ended())) Finish();
}

void Guard::OnSignal() {
  signalfd_siginfo signal;
  if (read(signals_.get(), &signal, sizeof signal) != sizeof signal) return;
  if (signal.ssi_signo == SIGHUP || signal.ssi_signo == SIGPIPE) return;
  if (phase_ < Phase::kServing) return Interrupt("interrupted by a signal");
  OrderUnmountOfAll();
}

void Guard::OnMountTableChange() {
  // A mount that is being made may need the one that has just gone: its report comes soon.
  if (phase_ == Phase::kServing && !(helper_ && job_ == Job::kJoin)) DropGonePlaces();
}

}  // namespace bucketvol
