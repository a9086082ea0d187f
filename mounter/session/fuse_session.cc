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
#include "mounter/base/errno_status.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/session/fuse_operations.h"
#include "mounter/session/pending_reads.h"

namespace bucketvol {
namespace {

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
  Impl(FuseSessionSettings settings, const Clock& clock, Executor& timer)
      : settings_(std::move(settings)),
        reads_(PendingReads::Create(clock, timer, settings_.request_timeout)),
        init_request_(settings_.init_request) {}

  absl::Status Serve(UniqueFd fd, FileServer& files);
  void Stop() {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  std::string init_request() const {
    absl::MutexLock lock(&mu_);
    return init_request_;
  }
  const PendingReads& reads() const { return *reads_; }

 private:
  // libfuse hands this to its operations, which take the first member, and to the hooks.
  struct UserData {
    FuseOperations* operations;
    Impl* session;
  };
  using Destroy = void (*)(fuse_session*);
  using SessionPtr = std::unique_ptr<fuse_session, Destroy>;

  static ssize_t ReadHook(int fd, void* buffer, size_t size, void* user_data);
  static ssize_t WriteHook(int fd, iovec* parts, int count, void* user_data);

  absl::StatusOr<SessionPtr> Open(UniqueFd fd, UserData& user_data);
  void Prime(fuse_session* session);
  void RunThreads(fuse_session* session);
  void Loop(fuse_session* session);
  void NoteInit(absl::string_view request);
  void StopWith(const absl::Status& failure);

  const FuseSessionSettings settings_;
  const std::shared_ptr<PendingReads> reads_;
  std::atomic<bool> stopping_{false};  // Changed under the lock, so that Serve can wait for it.
  std::atomic<bool> gone_{false};      // The kernel's side has ended.
  std::atomic<bool> priming_{false};   // Replies are swallowed: the kernel got them from an earlier session.
  mutable absl::Mutex mu_;             // Leaf.
  std::string init_request_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  int running_ ABSL_GUARDED_BY(mu_) = 0;
};

ssize_t FuseSession::Impl::ReadHook(int fd, void* buffer, size_t size, void* user_data) {
  Impl& self = *static_cast<UserData*>(user_data)->session;
  if (self.stopping_) {
    errno = EINTR;
    return -1;
  }
  const ssize_t got = read(fd, buffer, size);
  if (got > 0) {
    self.NoteInit({static_cast<const char*>(buffer), static_cast<size_t>(got)});
    return got;
  }
  if (got == 0 || errno == ENODEV) {  // Unmounted; or the other end of a socket was closed.
    self.gone_ = true;
    self.StopWith(absl::OkStatus());
  } else if (errno == EINTR || errno == EAGAIN || errno == ENOENT) {  // ENOENT: the request was interrupted.
    return -1;
  } else {
    self.StopWith(ErrnoToStatus(errno, "cannot read from the FUSE descriptor"));
  }
  errno = ENODEV;  // The one error that libfuse takes in silence.
  return -1;
}

ssize_t FuseSession::Impl::WriteHook(int fd, iovec* parts, int count, void* user_data) {
  const Impl& self = *static_cast<UserData*>(user_data)->session;
  if (!self.priming_) {
    const ssize_t wrote = writev(fd, parts, count);
    if (wrote >= 0 || errno == ENOENT) return wrote;  // ENOENT: the kernel no longer waits for this answer.
    LogError("cannot answer the kernel: ", ErrnoToStatus(errno, "write to the FUSE descriptor").message());
    errno = ENOENT;
    return -1;
  }
  ssize_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += static_cast<ssize_t>(parts[i].iov_len);
  return bytes;
}

void FuseSession::Impl::NoteInit(absl::string_view request) {
  fuse_in_header header;
  if (request.size() < sizeof(header)) return;
  std::memcpy(&header, request.data(), sizeof(header));
  if (header.opcode != FUSE_INIT) return;
  absl::MutexLock lock(&mu_);
  init_request_ = std::string(request);
}

absl::StatusOr<FuseSession::Impl::SessionPtr> FuseSession::Impl::Open(UniqueFd fd, UserData& user_data) {
  std::string program = "bucketvol";
  std::array<char*, 2> words = {program.data(), nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(1, words.data());
  const fuse_lowlevel_ops operations = FuseOperations::Table();
  SessionPtr session(fuse_session_new(&arguments, &operations, sizeof(operations), &user_data),
                     &fuse_session_destroy);
  fuse_opt_free_args(&arguments);
  if (session == nullptr) return absl::InternalError("cannot make a FUSE session: out of memory");
  fuse_custom_io hooks{};
  hooks.read = &ReadHook;
  hooks.writev = &WriteHook;
  const int error = fuse_session_custom_io(session.get(), &hooks, fd.get());
  if (error != 0) return ErrnoToStatus(-error, "cannot use the FUSE descriptor");
  fd.Release();  // The session closes it.
  return session;
}

void FuseSession::Impl::Prime(fuse_session* session) {
  if (settings_.init_request.empty()) return;
  std::string request = settings_.init_request;
  fuse_buf buffer{};
  buffer.mem = request.data();
  buffer.size = request.size();
  priming_ = true;
  fuse_session_process_buf(session, &buffer);
  priming_ = false;
}

void FuseSession::Impl::StopWith(const absl::Status& failure) {
  absl::MutexLock lock(&mu_);
  failure_.Update(failure);
  stopping_ = true;
}

// One request is taken whole before the next look at stopping_: what was read is always processed.
void FuseSession::Impl::Loop(fuse_session* session) {
  SetThreadSignals();
  fuse_buf buffer{};
  while (!stopping_) {
    if (fuse_session_receive_buf(session, &buffer) > 0) fuse_session_process_buf(session, &buffer);
    // libfuse gives up by itself only over an INIT that it cannot agree with; all else goes through the
    // hooks.
    if (fuse_session_exited(session) && !gone_) {
      StopWith(absl::FailedPreconditionError("the kernel refused the FUSE session, or its FUSE is too old"));
    }
  }
  std::free(buffer.mem);
  absl::MutexLock lock(&mu_);
  --running_;
}

void FuseSession::Impl::RunThreads(fuse_session* session) {
  std::vector<std::thread> threads(static_cast<size_t>(ThreadCount(settings_.threads)));
  absl::ReleasableMutexLock lock(&mu_);
  running_ = static_cast<int>(threads.size());
  for (std::thread& thread : threads) {
    thread = std::thread([this, session] { Loop(session); });
    pthread_setname_np(thread.native_handle(), "bv-session");
  }
  mu_.Await(absl::Condition(
      +[](std::atomic<bool>* stopping) { return stopping->load(); }, &stopping_));
  // A thread may be on its way into read(2) when the signal comes; hence again until all have left.
  while (!mu_.AwaitWithTimeout(absl::Condition(
                                   +[](int* running) { return *running == 0; }, &running_),
                               absl::Milliseconds(2))) {
    for (std::thread& thread : threads) pthread_kill(thread.native_handle(), WakeSignal());
  }
  lock.Release();
  for (std::thread& thread : threads) thread.join();
}

absl::Status FuseSession::Impl::Serve(UniqueFd fd, FileServer& files) {
  InstallWakeSignal();
  fuse_set_log_func(&LogOfLibfuse);
  FuseOperations operations(files, reads_, settings_.max_background);
  UserData user_data{&operations, this};
  ASSIGN_OR_RETURN(const SessionPtr session, Open(std::move(fd), user_data));
  Prime(session.get());
  RunThreads(session.get());
  if (gone_) reads_->Abandon();
  reads_->AwaitEmpty();
  absl::MutexLock lock(&mu_);
  return failure_;
}

FuseSession::FuseSession(FuseSessionSettings settings, const Clock& clock, Executor& timer)
    : impl_(std::make_unique<Impl>(std::move(settings), clock, timer)) {}
FuseSession::~FuseSession() = default;

absl::Status FuseSession::Serve(UniqueFd fd, FileServer& files) { return impl_->Serve(std::move(fd), files); }
void FuseSession::Stop() { impl_->Stop(); }
std::string FuseSession::init_request() const { return impl_->init_request(); }
uint64_t FuseSession::reads_in_flight() const { return impl_->reads().size(); }
uint64_t FuseSession::reads_timed_out() const { return impl_->reads().timed_out(); }

}  // namespace bucketvol
