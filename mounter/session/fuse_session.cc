#include "mounter/session/fuse_session.h"

#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/session/fuse_operations.h"
#include "mounter/session/heart.h"
#include "mounter/session/init_exchange.h"
#include "mounter/session/kernel_reply.h"
#include "mounter/session/pending_reads.h"
#include "mounter/session/request_journal.h"

namespace bucketvol {
namespace {

// A thread that is on its way into read(2) while the signal comes gets the next one.
constexpr absl::Duration kWakePause = absl::Microseconds(200);

int WakeSignal() { return SIGRTMIN + 1; }

void InstallWakeSignal() {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // Exists to make read(2) return EINTR; hence no SA_RESTART.
  sigaction(WakeSignal(), &action, nullptr);
}

/// Lets this thread be woken, and leaves every other signal to the threads of main.
void SetThreadSignals() {
  sigset_t blocked;
  sigfillset(&blocked);
  sigdelset(&blocked, WakeSignal());
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

int ThreadCount(int wanted) {
  return wanted > 0 ? wanted : std::clamp(2 * static_cast<int>(std::thread::hardware_concurrency()), 2, 4);
}

void LogOfLibfuse(fuse_log_level level, const char* format, va_list arguments) {
  std::array<char, 512> line{};
  vsnprintf(line.data(), line.size(), format, arguments);
  const size_t length = strcspn(line.data(), "\n");
  Log(level <= FUSE_LOG_ERR ? LogLevel::kError : LogLevel::kWarning,
      absl::StrCat("libfuse: ", absl::string_view(line.data(), length)));
}

}  // namespace

class FuseSession::Impl {
 public:
  Impl(FuseSessionSettings settings, RequestSlots& slots, const Clock& clock, Executor& timer)
      : settings_(settings),
        slots_(slots),
        clock_(clock),
        timer_(timer),
        reads_(PendingReads::Create(clock, timer, settings_.request_timeout)) {}

  absl::Status Serve(UniqueFd fd, FileServer& files);
  void Stop() {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  const PendingReads& reads() const { return *reads_; }

 private:
  // What one call of Serve works with. libfuse hands it to its operations, which take the first member, and
  // to the hooks.
  struct Service {
    FuseOperations* operations;
    Impl* session;
    RequestJournal* journal;
    int fd;
    fuse_session* fuse = nullptr;
  };
  using Destroy = void (*)(fuse_session*);
  using SessionPtr = std::unique_ptr<fuse_session, Destroy>;

  static ssize_t WriteHook(int fd, iovec* parts, int count, void* user_data);

  absl::StatusOr<SessionPtr> Open(UniqueFd fd, Service& service);
  void TakeOver(Service& service);
  void Inherit(Service& service, const RequestJournal::Inherited& request);
  void RunThreads(Service& service);
  void Loop(Service& service);
  void OnNothingRead();
  void Process(Service& service, absl::Span<char> request);
  ssize_t Answer(Service& service, iovec* parts, int count);
  void StopWith(const absl::Status& failure);

  const FuseSessionSettings settings_;
  RequestSlots& slots_;
  const Clock& clock_;
  Executor& timer_;
  const std::shared_ptr<PendingReads> reads_;
  std::string init_request_;  // While INIT is processed: only one thread is in it then.
  std::atomic<uint64_t> init_unique_{0};
  std::atomic<bool> stopping_{false};  // Changed under the lock, so that Serve can wait for it.
  std::atomic<bool> gone_{false};      // The kernel's side has ended.
  std::atomic<bool> priming_{false};   // Replies are swallowed: the kernel got them from an earlier session.
  absl::Mutex mu_;                     // Leaf.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  int running_ ABSL_GUARDED_BY(mu_) = 0;
};

ssize_t FuseSession::Impl::WriteHook(int, iovec* parts, int count, void* user_data) {
  auto& service = *static_cast<Service*>(user_data);
  if (!service.session->priming_) return service.session->Answer(service, parts, count);
  ssize_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += static_cast<ssize_t>(parts[i].iov_len);
  return bytes;
}

ssize_t FuseSession::Impl::Answer(Service& service, iovec* parts, int count) {
  fuse_out_header header;
  std::memcpy(&header, parts[0].iov_base, sizeof header);
  std::string init;
  iovec whole;
  if (header.unique == init_unique_ && header.unique != 0 && header.error == 0) {
    init = LimitWrites(parts, count, kMaxWriteBytes);
    RecordInit(slots_, init_request_, init);
    whole = {init.data(), init.size()};
    parts = &whole;
    count = 1;
  }
  return SendReply(*service.journal, service.fd, parts, count);
}

absl::StatusOr<FuseSession::Impl::SessionPtr> FuseSession::Impl::Open(UniqueFd fd, Service& service) {
  std::string program = "bucketvol";
  std::array<char*, 2> words = {program.data(), nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(1, words.data());
  const fuse_lowlevel_ops operations = FuseOperations::Table();
  SessionPtr session(fuse_session_new(&arguments, &operations, sizeof(operations), &service),
                     &fuse_session_destroy);
  fuse_opt_free_args(&arguments);
  if (session == nullptr) return absl::InternalError("cannot make a FUSE session: out of memory");
  fuse_custom_io hooks{};
  hooks.read = [](int from, void* buffer, size_t size, void*) { return read(from, buffer, size); };
  hooks.writev = &WriteHook;
  const int error = fuse_session_custom_io(session.get(), &hooks, fd.get());
  if (error != 0) return ErrnoToStatus(-error, "cannot use the FUSE descriptor");
  service.fd = fd.Release();  // The session closes it.
  service.fuse = session.get();
  return session;
}

// What an earlier session agreed upon is made known to this one; what it left unanswered comes before
// anything new.
void FuseSession::Impl::TakeOver(Service& service) {
  const std::vector<RequestJournal::Inherited> requests = service.journal->TakeOver();
  std::string init = RecordedInit(slots_);
  const bool answers_init = std::any_of(requests.begin(), requests.end(),
                                        [](const auto& request) { return request.opcode == FUSE_INIT; });
  if (!init.empty() && !answers_init) {
    priming_ = true;
    Process(service, absl::MakeSpan(init));
    priming_ = false;
  }
  for (const RequestJournal::Inherited& request : requests) Inherit(service, request);
  service.operations->set_age(absl::ZeroDuration());
  if (!requests.empty()) LogInfo("took over requests of a predecessor: ", requests.size());
  if (!init.empty() && CanResend(init)) AskToResend(service.fd);
}

void FuseSession::Impl::Inherit(Service& service, const RequestJournal::Inherited& request) {
  const bool given_up = settings_.most_attempts > 0 && request.attempts > settings_.most_attempts;
  if (!request.whole || given_up || request.age >= settings_.request_timeout) {
    LogWarning("a request of a predecessor is answered with EIO: operation ", request.opcode, ", ",
               absl::FormatDuration(request.age), " old, taken over ", request.attempts, " times");
    return SendError(*service.journal, service.fd, request.unique, EIO);
  }
  service.operations->set_age(request.age);
  Process(service, request.bytes);
}

void FuseSession::Impl::StopWith(const absl::Status& failure) {
  absl::MutexLock lock(&mu_);
  failure_.Update(failure);
  stopping_ = true;
}

void FuseSession::Impl::OnNothingRead() {
  if (errno == 0 || errno == ENODEV) {  // The other end of a socket was closed; or unmounted.
    gone_ = true;
    StopWith(absl::OkStatus());
  } else if (errno != EINTR && errno != EAGAIN && errno != ENOENT) {  // ENOENT: the request was interrupted.
    StopWith(ErrnoToStatus(errno, "cannot read from the FUSE descriptor"));
  }
}

void FuseSession::Impl::Process(Service& service, absl::Span<char> request) {
  fuse_in_header header;
  if (request.size() < sizeof header) return;
  std::memcpy(&header, request.data(), sizeof header);
  if (header.opcode == FUSE_INIT) {
    init_request_.assign(request.data(), request.size());
    init_unique_ = header.unique;
  }
  fuse_buf buffer{};
  buffer.mem = request.data();
  buffer.size = request.size();
  fuse_session_process_buf(service.fuse, &buffer);
  if (!WantsReply(header.opcode)) service.journal->Settle(header.unique);
}

// One request is taken whole before the next look at stopping_: what was read is always processed.
void FuseSession::Impl::Loop(Service& service) {
  SetThreadSignals();
  {
    RequestTaker taker(*service.journal, service.fd);
    while (!stopping_) {
      const absl::Span<char> request = taker.Take();
      if (request.empty())
        OnNothingRead();
      else
        Process(service, request);
      // libfuse gives up by itself only over an INIT that it cannot agree with.
      if (fuse_session_exited(service.fuse) && !gone_) {
        StopWith(
            absl::FailedPreconditionError("the kernel refused the FUSE session, or its FUSE is too old"));
      }
    }
  }
  absl::MutexLock lock(&mu_);
  --running_;
}

void FuseSession::Impl::RunThreads(Service& service) {
  std::vector<std::thread> threads(static_cast<size_t>(ThreadCount(settings_.threads)));
  absl::ReleasableMutexLock lock(&mu_);
  running_ = static_cast<int>(threads.size());
  for (std::thread& thread : threads) {
    thread = std::thread([this, &service] { Loop(service); });
    pthread_setname_np(thread.native_handle(), "bv-session");
  }
  mu_.Await(absl::Condition(
      +[](std::atomic<bool>* stopping) { return stopping->load(); }, &stopping_));
  service.journal->Close();
  for (; running_ > 0; mu_.Lock()) {
    for (std::thread& thread : threads) pthread_kill(thread.native_handle(), WakeSignal());
    mu_.Unlock();
    absl::SleepFor(kWakePause);
  }
  lock.Release();
  for (std::thread& thread : threads) thread.join();
}

absl::Status FuseSession::Impl::Serve(UniqueFd fd, FileServer& files) {
  InstallWakeSignal();
  fuse_set_log_func(&LogOfLibfuse);
  FuseOperations operations(files, reads_, settings_.max_background);
  RequestJournal journal(slots_, clock_);
  Service service{&operations, this, &journal, -1};
  ASSIGN_OR_RETURN(const SessionPtr session, Open(std::move(fd), service));
  const auto heart = Heart::Start(slots_, timer_);
  TakeOver(service);
  RunThreads(service);
  if (gone_) reads_->Abandon();
  reads_->AwaitEmpty();
  absl::MutexLock lock(&mu_);
  return failure_;
}

FuseSession::FuseSession(FuseSessionSettings settings, RequestSlots& slots, const Clock& clock,
                         Executor& timer)
    : impl_(std::make_unique<Impl>(settings, slots, clock, timer)) {}
FuseSession::~FuseSession() = default;

absl::Status FuseSession::Serve(UniqueFd fd, FileServer& files) { return impl_->Serve(std::move(fd), files); }
void FuseSession::Stop() { impl_->Stop(); }
uint64_t FuseSession::reads_in_flight() const { return impl_->reads().size(); }
uint64_t FuseSession::reads_timed_out() const { return impl_->reads().timed_out(); }

}  // namespace bucketvol
