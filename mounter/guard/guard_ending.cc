#include "mounter/guard/guard.h"

#include <sys/mount.h>

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

void Guard::StartUnmount(int flags) {
  if (phase_ < Phase::kServing) return Stop(ResultCode::kFailed, "unmounted while it was being mounted");
  if (phase_ != Phase::kServing || helper_) return;
  const auto top = TopMountAt(ReadMountTable(), plan_.mount_point);
  if (!top || top->id != image_->id) {
    return AnswerUnmounts(ResultCode::kBusy, "another file system is mounted over it: " + plan_.mount_point);
  }
  EndFinishing();
  if (auto started = StartUnmountHelper(flags); !started.ok())
    AnswerUnmounts(ResultCode::kFailed, started.failure().text);
}

Step Guard::StartUnmountHelper(int flags) {
  unmount_flags_ = flags;
  ASSIGN_OR_FAIL(HelperChild helper, HelperChild::Start({}, [this, flags](const Channel& parent) {
                   RunUnmount(parent, plan_.mount_point, flags);
                 }));
  helper_.emplace(std::move(helper));
  helper_deadline_ = MonotonicMs() + kUnmountLimitMs;
  return Nothing{};
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
  if (image_ && IsMounted()) {
    if (StartUnmountHelper(MNT_DETACH).ok()) return;
  }
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
  run_directory_.reset();
  if (control_.open()) Report(control_, result_, result_text_);
  AnswerUnmounts(ResultCode::kOk, "");
  for (const auto wanted : {&Client::wants_upgrade, &Client::wants_revival, &Client::wants_credentials})
    Answer(wanted, ResultCode::kFailed, "the mount has ended");
}

bool Guard::IsMounted() const {
  if (!image_) return false;
  const auto entry = MountWithId(ReadMountTable(), image_->id);
  return entry && entry->device == image_->device;
}

}  // namespace bucketvol
