#include "mounter/guard/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>

#include "mounter/guard/fs_context.h"
#include "mounter/guard/guard_log.h"
#include "mounter/guard/loop_device.h"
#include "mounter/guard/monotonic.h"

namespace bucketvol {
namespace {

// The command sends its first message at once.
constexpr int kFirstMessageMs = 10'000;
constexpr int64_t kDefaultRequestLimitMs = 110'000;
constexpr int64_t kLogCheckMs = 10'000;
constexpr uint64_t kLogLimit = 4 << 20;

Outcome<UniqueFd> WatchSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) sigaddset(&set, signal);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return SystemFailure(errno, "block signals");
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return SystemFailure(errno, "watch signals");
  return fd;
}

ResultCode CodeOf(const Failure& failure) {
  if (failure.error == EBUSY) return ResultCode::kBusy;
  return failure.error == EALREADY ? ResultCode::kOwned : ResultCode::kFailed;
}

// Everything that can be missing is found missing before a long listing.
Step CheckKernel() {
  RETURN_IF_FAILED(FsContext::Open("erofs"));
  return Nothing{};
}

}  // namespace

Guard::Guard(Channel control, std::string run_directory)
    : control_(std::move(control)), run_path_(std::move(run_directory)) {}

int Guard::Run() {
  if (auto prepared = Prepare(); !prepared.ok()) {
    worker_.reset();
    run_directory_.reset();
    Report(control_, CodeOf(prepared.failure()), prepared.failure().text);
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
  const std::vector<std::string> strings = mount.Strings(8);
  RETURN_IF_FAILED(TakePlace(strings[0], strings[4]));
  RETURN_IF_FAILED(TakeSource(strings[5]));
  terms_ = strings[6];
  credentials_ = strings[7];
  plan_.transport = body.transport;
  plan_.mount_point = strings[0];
  foreground_ = body.foreground != 0;
  worker_program_ = strings[1];
  spec_ = SecretPages(strings[2]);
  if (const int error = HeldCgroup::Hold(SplitDirectories(strings[3]), cgroup_))
    return SystemFailure(error, "hold the worker's cgroup");
  request_limit_ms_ = body.request_timeout_ms == 0 ? kDefaultRequestLimitMs : body.request_timeout_ms;
  // Whoever waits for an answer shall get one within the limit.
  restarts_ = RestartPolicy(request_limit_ms_ / 4);
  ASSIGN_OR_FAIL(signals_, WatchSignals());
  mount_table_ = UniqueFd(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (!mount_table_.valid()) return SystemFailure(errno, "open /proc/self/mountinfo");
  ASSIGN_OR_FAIL(fuse_, FuseConnection::Make());
  RETURN_IF_FAILED(CheckKernel());
  if (plan_.transport == Transport::kLoop) RETURN_IF_FAILED(CheckLoopControl());
  ASSIGN_OR_FAIL(RunDirectory directory, RunDirectory::Claim(run_path_));
  run_directory_.emplace(std::move(directory));
  TellClaims();
  spare_ = UniqueFd(fcntl(signals_.get(), F_DUPFD_CLOEXEC, 0));
  if (!foreground_) RETURN_IF_FAILED(run_directory_->RedirectErrors());
  log_check_ = MonotonicMs() + kLogCheckMs;
  return StartFirst();
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
  };
  if (control_.open()) watches.push_back({control_.fd(), POLLIN, &Guard::OnControl});
  // The end of a worker first: readers wait for what follows from it, and its last words are read with it.
  if (worker_) watches.push_back({worker_->pidfd(), POLLIN, &Guard::OnWorkerExit});
  if (worker_ && worker_->channel().open())
    watches.push_back({worker_->channel().fd(), POLLIN, &Guard::OnWorkerMessage});
  if (standby_ && standby_->channel().open())
    watches.push_back({standby_->channel().fd(), POLLIN, &Guard::OnStandbyMessage});
  if (standby_) watches.push_back({standby_->pidfd(), POLLIN, &Guard::OnStandbyExit});
  if (refuser_) watches.push_back({fuse_.device.get(), POLLIN, nullptr});
  if (helper_) watches.push_back({helper_->fd(), POLLIN, &Guard::OnHelper});
  if (finishing_) watches.push_back({finishing_->fd(), POLLIN, &Guard::OnHelperEnd});
  watches.push_back({run_directory_->listener().get(), POLLIN, &Guard::OnConnect});

  std::vector<pollfd> polled;
  polled.reserve(watches.size() + clients_.size());
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
    if (polled[i].revents == 0 || (i < watches.size() && watches[i].handler == nullptr)) continue;
    if (i < watches.size())
      (this->*watches[i].handler)();
    else
      OnClient(*clients[i - watches.size()]);
    break;
  }
  if (refuser_) OnRefusable();
  clients_.remove_if([](const Client& client) { return !client.channel.open(); });
  OnTime();
  StartNextJob();
  if (phase_ == Phase::kDetaching) fuse_.mount.Reset();
  if (phase_ == Phase::kEnding) AdvanceEnding();
}

int Guard::PollTimeout() const {
  int64_t first = log_check_;
  for (const int64_t deadline : {helper_deadline_, worker_deadline_, standby_at_, standby_deadline_,
                                 standby_check_, progress_check_, detach_deadline_, status_deadline_}) {
    if (deadline != 0) first = std::min(first, deadline);
  }
  return static_cast<int>(std::clamp<int64_t>(first - MonotonicMs(), 0, kLogCheckMs));
}

void Guard::OnTime() {
  const int64_t now = MonotonicMs();
  const auto due = [now](int64_t& deadline) {
    if (deadline == 0 || now < deadline) return false;
    deadline = 0;
    return true;
  };
  if (due(log_check_)) {
    run_directory_->BoundLog(kLogLimit);
    log_check_ = now + kLogCheckMs;
  }
  if (due(helper_deadline_)) OnHelperLate();
  if (due(worker_deadline_) && worker_) worker_->Kill();
  if (due(standby_at_)) worker_ ? StartStandby() : TakeOver();
  if (due(standby_check_)) AskStandby();
  if (due(standby_deadline_)) KillLateStandby();
  if (due(progress_check_)) CheckProgress();
  if (due(status_deadline_)) AnswerStatus();
  if (due(detach_deadline_)) {
    AnswerUnmounts(ResultCode::kOk,
                   "unmounted here; still used elsewhere (another mount namespace or a bind mount)");
  }
}

}  // namespace bucketvol
