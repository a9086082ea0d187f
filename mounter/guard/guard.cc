#include "mounter/guard/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "mounter/guard/fs_context.h"
#include "mounter/guard/guard_log.h"
#include "mounter/guard/loop_device.h"
#include "mounter/guard/mount_table.h"

namespace bucketvol {
namespace {

// The command sends its first message at once.
constexpr int kFirstMessageMs = 10'000;
// A worker that answers opens a data file in microseconds; a mount reads a few blocks from the local disk.
constexpr int64_t kAttachLimitMs = 30'000;
// Far beyond any umount that makes progress.
constexpr int64_t kUnmountLimitMs = 10'000;
// A dismissed worker stops its requests and removes its unfinished files.
constexpr int64_t kDismissLimitMs = 5'000;
// After a plain umount the superblock goes at once, unless somebody elsewhere still uses it.
constexpr int64_t kDetachLimitMs = 3'000;
// After a lazy one somebody is expected to.
constexpr int64_t kLazyDetachLimitMs = 300;
constexpr int64_t kStatusLimitMs = 2'000;
constexpr int64_t kLogCheckMs = 10'000;
constexpr uint64_t kLogLimit = 4 << 20;

int64_t NowMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

Outcome<UniqueFd> WatchSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) sigaddset(&set, signal);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return SystemFailure(errno, "block signals");
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return SystemFailure(errno, "watch signals");
  return fd;
}

// Everything that can be missing is found missing before a long listing.
Step CheckKernel() {
  RETURN_IF_FAILED(FsContext::Open("erofs"));
  return Nothing{};
}

std::string EncodeResult(ResultCode code, const std::string& text) {
  ResultBody body;
  body.code = code;
  return EncodeMessage(MessageType::kResult, body, {text});
}

// The helper's report of a mount: ResultBody and text, or the image: numbers in the body.
struct AttachReport {
  ResultCode code = ResultCode::kOk;
  int32_t error = 0;
  uint64_t mount_id = 0;
  uint64_t device = 0;
};

void RunAttach(const Channel& parent, const ImagePlan& plan, const UniqueFd& meta,
               const UniqueFd& fuse_mount) {
  AttachReport report;
  auto image = MountImage(plan, meta, fuse_mount);
  if (!image.ok()) {
    report.code = ResultCode::kFailed;
    report.error = image.failure().error;
    (void)parent.SendWaiting(EncodeMessage(MessageType::kResult, report, {image.failure().text})).ok();
    return;
  }
  report.mount_id = image.value().mount_id;
  report.device = image.value().device;
  if (parent.SendWaiting(EncodeMessage(MessageType::kResult, report)).ok()) TuneRequests(image.value().loops);
}

void RunUnmount(const Channel& parent, const std::string& mount_point, int flags) {
  AttachReport report;
  std::string text;
  if (umount2(mount_point.c_str(), flags | UMOUNT_NOFOLLOW) != 0) {
    report.code = errno == EBUSY ? ResultCode::kBusy : ResultCode::kFailed;
    report.error = errno;
    text = strerror(report.error);
  }
  (void)parent.SendWaiting(EncodeMessage(MessageType::kResult, report, {text})).ok();
}

}  // namespace

Guard::Guard(Channel control, std::string run_directory)
    : control_(std::move(control)), run_path_(std::move(run_directory)) {}

int Guard::Run() {
  if (auto prepared = Prepare(); !prepared.ok()) {
    const ResultCode code = prepared.failure().error == EBUSY ? ResultCode::kBusy : ResultCode::kFailed;
    worker_.reset();
    run_directory_.reset();
    Report(control_, code, prepared.failure().text);
    return 1;
  }
  while (phase_ != Phase::kDone) PollOnce();
  return result_ == ResultCode::kOk ? 0 : 1;
}

Step Guard::Prepare() {
  Message mount;
  if (control_.ReceiveWaiting(mount, kFirstMessageMs) != Channel::Received::kMessage ||
      !mount.Is(MessageType::kMount)) {
    return Failure{0, "guard was started without a command"};
  }
  const auto body = mount.BodyAs<MountBody>();
  const std::vector<std::string> strings = mount.Strings(3);
  plan_.transport = body.transport;
  plan_.mount_point = strings[0];
  foreground_ = body.foreground != 0;
  worker_program_ = strings[1];
  spec_ = strings[2];
  ASSIGN_OR_FAIL(signals_, WatchSignals());
  mount_table_ = UniqueFd(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (!mount_table_.valid()) return SystemFailure(errno, "open /proc/self/mountinfo");
  ASSIGN_OR_FAIL(fuse_, FuseConnection::Make());
  RETURN_IF_FAILED(CheckKernel());
  if (plan_.transport == Transport::kLoop) RETURN_IF_FAILED(CheckLoopControl());
  ASSIGN_OR_FAIL(RunDirectory directory, RunDirectory::Claim(run_path_));
  run_directory_.emplace(std::move(directory));
  if (!foreground_) RETURN_IF_FAILED(run_directory_->RedirectErrors());
  log_check_ = NowMs() + kLogCheckMs;
  return StartWorker();
}

Step Guard::StartWorker() {
  ASSIGN_OR_FAIL(WorkerProcess worker, WorkerProcess::Start(worker_program_));
  worker_.emplace(std::move(worker));
  StartBody start;
  start.generation = ++generation_;
  return worker_->channel().Send(EncodeMessage(MessageType::kStart, start, {spec_}), {fuse_.device.get()});
}

void Guard::PollOnce() {
  struct Watch {
    int fd;
    short events;
    Handler handler;
  };
  std::vector<Watch> watches = {
      {mount_table_.get(), POLLPRI, &Guard::OnMountTableChange},
      {signals_.get(), POLLIN, &Guard::OnSignal},
      {run_directory_->listener().get(), POLLIN, &Guard::OnConnect},
  };
  if (control_.open()) watches.push_back({control_.fd(), POLLIN, &Guard::OnControl});
  if (worker_ && worker_->channel().open())
    watches.push_back({worker_->channel().fd(), POLLIN, &Guard::OnWorkerMessage});
  if (worker_) watches.push_back({worker_->pidfd(), POLLIN, &Guard::OnWorkerExit});
  if (helper_) watches.push_back({helper_->fd(), POLLIN, &Guard::OnHelper});
  if (finishing_) watches.push_back({finishing_->fd(), POLLIN, &Guard::OnHelperEnd});

  std::vector<pollfd> polled;
  for (const Watch& watch : watches) polled.push_back({watch.fd, watch.events, 0});
  std::vector<Client*> clients;
  for (Client& client : clients_) {
    polled.push_back({client.channel.fd(), POLLIN, 0});
    clients.push_back(&client);
  }
  if (poll(polled.data(), polled.size(), PollTimeout()) < 0) return;
  // Reported once only, so never left for later.
  if (polled[0].revents != 0) OnMountTableChange();
  // Of the others one at a time: a handler may end what the next one is about.
  for (size_t i = 1; i < polled.size(); ++i) {
    if (polled[i].revents == 0) continue;
    if (i < watches.size())
      (this->*watches[i].handler)();
    else
      OnClient(*clients[i - watches.size()]);
    break;
  }
  clients_.remove_if([](const Client& client) { return !client.channel.open(); });
  OnTime();
  if (phase_ == Phase::kEnding) AdvanceEnding();
}

int Guard::PollTimeout() const {
  int64_t first = log_check_;
  for (const int64_t deadline : {helper_deadline_, worker_deadline_, detach_deadline_, status_deadline_}) {
    if (deadline != 0) first = std::min(first, deadline);
  }
  return static_cast<int>(std::clamp<int64_t>(first - NowMs(), 0, kLogCheckMs));
}

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
  // A reader may have ended the connection meanwhile.
  OnMountTableChange();
}

void Guard::OnCommandGone() {
  control_.Close();
  const bool settled = phase_ == Phase::kServing || phase_ == Phase::kDetaching;
  if (!settled || foreground_) Stop(ResultCode::kFailed, "interrupted");
}

void Guard::OnWorkerMessage() {
  Message message;
  const Channel::Received received = worker_->channel().Receive(message);
  if (received == Channel::Received::kClosed) return DismissWorker();
  if (received == Channel::Received::kNothing) return;
  if (message.Is(MessageType::kProgress)) {
    if (control_.open())
      (void)control_.Send(EncodePacket(MessageType::kProgress, message.body, message.payload)).ok();
  } else if (message.Is(MessageType::kWarning)) {
    if (control_.open())
      (void)control_.Send(EncodePacket(MessageType::kWarning, message.body, message.payload)).ok();
  } else if (message.Is(MessageType::kImage)) {
    OnImage(std::move(message));
  } else if (message.Is(MessageType::kWorkerFailed)) {
    last_error_ = message.Strings(1)[0];
    if (phase_ < Phase::kServing) Stop(message.BodyAs<ResultBody>().code, last_error_);
  } else if (message.Is(MessageType::kWorkerStatusReply)) {
    document_ = message.Strings(1)[0];
    if (message.BodyAs<WorkerStatusBody>().request == status_request_) AnswerStatus();
  }
}

void Guard::OnImage(Message message) {
  if (phase_ != Phase::kBuilding || helper_) return;
  if (message.descriptors.empty()) return Stop(ResultCode::kFailed, "worker sent no metadata image");
  plan_.devices = message.BodyAs<ImageBody>().devices;
  plan_.meta_path = message.Strings(1)[0];
  meta_ = std::move(message.descriptors.front());
  phase_ = Phase::kAttaching;
  auto helper = HelperChild::Start({meta_.get(), fuse_.mount.get()}, [this](const Channel& parent) {
    RunAttach(parent, plan_, meta_, fuse_.mount);
  });
  if (!helper.ok()) return Stop(ResultCode::kFailed, helper.failure().text);
  helper_.emplace(std::move(helper.value()));
  helper_deadline_ = NowMs() + kAttachLimitMs;
}

void Guard::OnWorkerExit() {
  bool clean = false;
  const std::string how = worker_->Reap(clean);
  // What it said last may still lie in the socket.
  Message message;
  while (worker_->channel().open() && worker_->channel().Receive(message) == Channel::Received::kMessage) {
    if (message.Is(MessageType::kWorkerFailed)) last_error_ = message.Strings(1)[0];
  }
  worker_.reset();
  worker_deadline_ = 0;
  AnswerStatus();
  switch (phase_) {
    case Phase::kBuilding:
    case Phase::kAttaching:
    case Phase::kUncommitted:
      AbortConnection();
      return Stop(ResultCode::kFailed,
                  last_error_.empty() ? "worker ended unexpectedly: " + how : last_error_);
    case Phase::kServing:
      AbortConnection();
      if (!IsMounted()) return Finish();
      if (last_error_.empty()) last_error_ = "worker ended unexpectedly: " + how;
      GuardLog("error: " + last_error_ + "; reads fail from now on");
      return;
    case Phase::kDetaching:
      return Finish();
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
    AttachReport lost;
    lost.code = ResultCode::kFailed;
    (void)DecodePacket(EncodeMessage(MessageType::kResult, lost, {"helper process ended unexpectedly"}),
                       report);
  }
  if (phase_ == Phase::kAttaching) return OnAttached(std::move(report));
  if (phase_ == Phase::kEnding && !image_) {
    // The mount was being made when the end came.
    const auto body = report.BodyAs<AttachReport>();
    if (body.code == ResultCode::kOk) image_ = Mounted{body.mount_id, body.device};
    return;
  }
  OnUnmounted(report);
}

void Guard::OnHelperEnd() {
  Message message;
  if (finishing_->Receive(message) != Channel::Received::kClosed) return;
  finishing_->Reap();
  finishing_.reset();
}

void Guard::OnAttached(Message report) {
  const auto body = report.BodyAs<AttachReport>();
  // From here on the connection lives as long as the image is mounted, not as long as this process.
  fuse_.mount.Reset();
  meta_.Reset();
  if (body.code != ResultCode::kOk) return Stop(ResultCode::kFailed, report.Strings(1)[0]);
  image_ = Mounted{body.mount_id, body.device};
  phase_ = Phase::kUncommitted;
  Report(control_, ResultCode::kOk, "");
}

void Guard::OnUnmounted(const Message& report) {
  const auto body = report.BodyAs<AttachReport>();
  if (phase_ == Phase::kEnding) {
    if (body.code != ResultCode::kOk) image_.reset();  // Not ours to take down any more, or no longer there.
    return;
  }
  if (body.code != ResultCode::kOk && IsMounted()) {
    const std::string why = body.code == ResultCode::kBusy
                                ? "mount point is in use: " + plan_.mount_point + " (see who: fuser -vm " +
                                      plan_.mount_point + "; or umount --lazy)"
                                : "umount " + plan_.mount_point + ": " + report.Strings(1)[0];
    return AnswerUnmounts(body.code, why);
  }
  phase_ = Phase::kDetaching;
  detach_deadline_ = NowMs() + (unmount_flags_ == 0 ? kDetachLimitMs : kLazyDetachLimitMs);
  if (!worker_) return Finish();
  if (unmount_by_force_) {
    worker_->Kill();
    AbortConnection();
  }
}

void Guard::OnConnect() {
  UniqueFd fd(accept4(run_directory_->listener().get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) return;
  Client client{Channel(std::move(fd))};
  const uid_t uid = client.channel.PeerProcess().uid;
  if (uid == 0 || uid == geteuid()) clients_.push_back(std::move(client));
}

void Guard::OnClient(Client& client) {
  Message message;
  const Channel::Received received = client.channel.Receive(message);
  if (received == Channel::Received::kClosed) return client.channel.Close();
  if (received == Channel::Received::kNothing) return;
  if (message.Is(MessageType::kStatus)) {
    client.wants_status = true;
    AskWorkerForStatus();
  } else if (message.Is(MessageType::kUnmount)) {
    client.wants_end = true;
    const auto body = message.BodyAs<UnmountBody>();
    unmount_by_force_ |= body.force != 0;
    StartUnmount(body.lazy != 0 || body.force != 0 ? MNT_DETACH : 0);
  }
}

void Guard::OnSignal() {
  signalfd_siginfo signal;
  if (read(signals_.get(), &signal, sizeof signal) != sizeof signal) return;
  if (signal.ssi_signo == SIGHUP || signal.ssi_signo == SIGPIPE) return;
  if (phase_ < Phase::kServing) return Stop(ResultCode::kFailed, "interrupted by a signal");
  StartUnmount(MNT_DETACH);
}

void Guard::OnMountTableChange() {
  if (phase_ != Phase::kServing || IsMounted()) return;
  if (!worker_) return Finish();
  phase_ = Phase::kDetaching;
}

void Guard::OnTime() {
  const int64_t now = NowMs();
  const auto due = [now](int64_t& deadline) {
    if (deadline == 0 || now < deadline) return false;
    deadline = 0;
    return true;
  };
  if (due(log_check_)) {
    run_directory_->BoundLog(kLogLimit);
    log_check_ = now + kLogCheckMs;
  }
  if (due(helper_deadline_)) {
    GuardLog("error: a kernel call takes too long; the FUSE connection is ended");
    last_error_ = "kernel call took too long; reads were given up";
    if (worker_) worker_->Kill();
    AbortConnection();
  }
  if (due(worker_deadline_) && worker_) worker_->Kill();
  if (due(status_deadline_)) AnswerStatus();
  if (due(detach_deadline_)) {
    AnswerUnmounts(ResultCode::kOk,
                   "unmounted here; still used elsewhere (another mount namespace or a bind mount)");
  }
}

void Guard::StartUnmount(int flags) {
  if (phase_ < Phase::kServing) return Stop(ResultCode::kFailed, "unmounted while it was being mounted");
  if (phase_ != Phase::kServing || helper_) return;
  const auto top = TopMountAt(ReadMountTable(), plan_.mount_point);
  if (!top || top->id != image_->id) {
    return AnswerUnmounts(ResultCode::kBusy, "another file system is mounted over it: " + plan_.mount_point);
  }
  unmount_flags_ = flags;
  auto helper = HelperChild::Start(
      {}, [this, flags](const Channel& parent) { RunUnmount(parent, plan_.mount_point, flags); });
  if (!helper.ok()) return AnswerUnmounts(ResultCode::kFailed, helper.failure().text);
  helper_.emplace(std::move(helper.value()));
  helper_deadline_ = NowMs() + kUnmountLimitMs;
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
  if (worker_) return;
  AbortConnection();
  if (helper_) return;
  if (image_ && IsMounted()) {
    auto helper = HelperChild::Start(
        {}, [this](const Channel& parent) { RunUnmount(parent, plan_.mount_point, MNT_DETACH); });
    if (helper.ok()) {
      helper_.emplace(std::move(helper.value()));
      helper_deadline_ = NowMs() + kUnmountLimitMs;
      return;
    }
  }
  Finish();
}

void Guard::AbortConnection() {
  fuse_.mount.Reset();
  fuse_.Abort();
}

void Guard::DismissWorker() {
  if (!worker_) return;
  worker_->Dismiss();
  if (worker_deadline_ == 0) worker_deadline_ = NowMs() + kDismissLimitMs;
}

void Guard::Finish() {
  phase_ = Phase::kDone;
  AbortConnection();
  meta_.Reset();
  run_directory_.reset();
  if (control_.open()) Report(control_, result_, result_text_);
  AnswerUnmounts(ResultCode::kOk, "");
}

void Guard::Report(Channel& to, ResultCode code, const std::string& text) {
  if (auto sent = to.Send(EncodeResult(code, text)); !sent.ok())
    GuardLog("warning: result not delivered: " + text);
}

void Guard::AnswerUnmounts(ResultCode code, const std::string& text) {
  unmount_by_force_ = false;
  for (Client& client : clients_) {
    if (!client.wants_end) continue;
    client.wants_end = false;
    Report(client.channel, code, text);
  }
}

void Guard::AskWorkerForStatus() {
  if (!worker_ || !worker_->channel().open()) return AnswerStatus();
  WorkerStatusBody body;
  body.request = ++status_request_;
  if (!worker_->channel().Send(EncodeMessage(MessageType::kWorkerStatus, body)).ok()) return AnswerStatus();
  if (status_deadline_ == 0) status_deadline_ = NowMs() + kStatusLimitMs;
}

void Guard::AnswerStatus() {
  status_deadline_ = 0;
  GuardStatusBody body;
  body.state = State();
  body.guard_pid = getpid();
  body.worker_pid = worker_ ? worker_->pid() : 0;
  body.worker_restarts = generation_ > 0 ? static_cast<uint32_t>(generation_ - 1) : 0;
  body.transport = plan_.transport;
  const std::string reply =
      EncodeMessage(MessageType::kStatusReply, body, {plan_.mount_point, last_error_, document_});
  for (Client& client : clients_) {
    if (!client.wants_status) continue;
    client.wants_status = false;
    if (!client.channel.Send(reply).ok()) client.channel.Close();
  }
}

bool Guard::IsMounted() const {
  if (!image_) return false;
  const auto entry = MountWithId(ReadMountTable(), image_->id);
  return entry && entry->device == image_->device;
}

MountState Guard::State() const {
  switch (phase_) {
    case Phase::kBuilding:
    case Phase::kAttaching:
      return MountState::kBuilding;
    case Phase::kUncommitted:
    case Phase::kServing:
    case Phase::kDetaching:
      return worker_ ? MountState::kReady : MountState::kDegraded;
    case Phase::kEnding:
    case Phase::kDone:
      return MountState::kStopped;
  }
  return MountState::kStopped;
}

}  // namespace bucketvol
