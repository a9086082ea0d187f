// What a worker hears from its guard, and tells it meanwhile.
#include <poll.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "mounter/base/log.h"
#include "mounter/cli/mount_status.h"
#include "mounter/cli/store_stack.h"
#include "mounter/cli/worker.h"

namespace bucketvol {
namespace {

// Progress goes out this often; a terminal needs no more.
constexpr int kProgressMs = 200;

}  // namespace

void Worker::WakeListener() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

bool Worker::AwaitEvent() {
  bool building;
  {
    absl::MutexLock lock(&mu_);
    building = job_ != nullptr;
  }
  pollfd ready[] = {{guard_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  poll(ready, 2, building ? kProgressMs : -1);
  uint64_t count;
  [[maybe_unused]] const ssize_t got = ready[1].revents == 0 ? 0 : read(wake_.get(), &count, sizeof count);
  absl::MutexLock lock(&mu_);
  return !ended_;
}

void Worker::Listen() {
  Channel::Received received = Channel::Received::kNothing;
  while (received != Channel::Received::kClosed) {
    if (!AwaitEvent()) return;
    TellProgress();
    Message message;
    received = guard_.Receive(message);
    if (received == Channel::Received::kMessage) OnMessage(std::move(message));
  }
  // The guard wants no more of us, or is dead.
  cancellation_->Cancel();
  absl::MutexLock lock(&mu_);
  ended_ = true;
  if (store_ != nullptr) store_->Shutdown();
  if (session_ != nullptr) session_->Stop();
}

void Worker::OnMessage(Message message) {
  if (message.Is(MessageType::kNewCredentials)) {
    ChangeCredentials(message.Strings(1)[0]);
  } else if (message.Is(MessageType::kWorkerStatus)) {
    const auto body = message.BodyAs<WorkerStatusBody>();
    (void)guard_.Send(EncodeMessage(MessageType::kWorkerStatusReply, body, {Status()})).ok();
  } else if (message.Is(MessageType::kServe) && !message.descriptors.empty()) {
    absl::MutexLock lock(&mu_);
    order_.emplace(ServeOrder{message.BodyAs<ServeBody>(), std::move(message.descriptors.front())});
  } else if (message.Is(MessageType::kDrain)) {
    absl::MutexLock lock(&mu_);
    if (session_ != nullptr) session_->Stop();
  }
}

void Worker::ChangeCredentials(const std::string& bytes) {
  const auto answer = [this](const absl::Status& status, const Secret& spec) {
    if (status.ok())
      LogInfo("new credentials are in use");
    else
      LogWarning(status.message());
    ResultBody body;
    body.code = status.ok() ? ResultCode::kOk : ResultCode::kFailed;
    (void)guard_
        .SendWaiting(EncodeMessage(MessageType::kCredentialsChecked, body,
                                   {Printable(status.message(), 4096), spec.Reveal()}))
        .ok();
  };
  absl::ReleasableMutexLock lock(&mu_);
  const std::shared_ptr<StoreStack> stack = stack_;
  lock.Release();
  if (stack == nullptr)
    return answer(absl::UnavailableError("the mount is not served yet; try again"), Secret());
  VolumeSpec spec;
  spec.options = options_;
  spec.proxy_credentials = proxy_credentials_;
  credential_change_.Start(std::move(spec), bytes, stack, answer);
}

void Worker::TellProgress() {
  ProgressBody body;
  {
    absl::MutexLock lock(&mu_);
    if (job_ == nullptr) return;
    const ListerProgress& progress = job_->progress();
    body.keys = progress.keys.load();
    body.requests = progress.requests.load();
    body.streams = progress.streams.load();
    body.expected_keys = expected_keys_;
    body.elapsed_ms = static_cast<uint64_t>(absl::ToInt64Milliseconds(clock_.Elapsed() - job_start_));
    building_->NoteKeys(body.keys);
  }
  (void)guard_.Send(EncodeMessage(MessageType::kProgress, body)).ok();
}

std::string Worker::Status() {
  StatusDocument status;
  status.source = options_.source.ToString();
  status.kind = "image";
  status.index_fs = "erofs";
  status.read = ReadStatus(reads_);
  status.memory.limit = memory_.limit;
  if (node_share_ != nullptr) {
    status.memory.node_budget = node_share_->total();
    status.memory.node_used = node_share_->used_by_all();
  }
  absl::MutexLock lock(&mu_);
  if (store_ != nullptr) status.store = StoreStatus(store_->metrics());
  if (manifest_) status.index = IndexStatus(manifest_->report);
  if (job_ != nullptr) {
    status.index.keys = job_->progress().keys.load();
    status.index.list_requests = job_->progress().requests.load();
    status.index.list_streams_peak = job_->progress().streams_peak.load();
  }
  if (reader_ != nullptr) {
    status.memory.budget = reader_->memory().limit;
    status.memory.used = reader_->memory().used;
    status.last_error = reader_->last_error();
  }
  if (session_ != nullptr) {
    status.read.in_flight = session_->reads_in_flight();
    status.read.timed_out = session_->reads_timed_out();
  }
  return status.ToJson();
}

}  // namespace bucketvol
