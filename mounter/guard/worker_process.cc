#include "mounter/guard/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "mounter/guard/guard_log.h"
#include "mounter/guard/helper_child.h"
#include "mounter/guard/small_file.h"
#include "mounter/guard/worker_program.h"

namespace bucketvol {
namespace {

constexpr int kSocketFd = 3;
// A killed process that no system call holds is gone long before, whatever its memory.
constexpr int kEndLimitMs = 2'000;
// Exit code of a worker that would have run without its limits.
constexpr int kNotLimited = 126;
// Without CAP_SYS_RESOURCE the guard's own score cannot be lowered; the worker's can always be raised above
// it.
constexpr const char* kWorkerScore = "300";

[[noreturn]] void BecomeWorker(const std::string& program, const HeldCgroup& cgroup, int socket,
                               pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  // dup2 drops close-on-exec, but not where both are the same.
  if (socket == kSocketFd)
    fcntl(kSocketFd, F_SETFD, 0);
  else
    dup2(socket, kSocketFd);
  CloseAllBut({kSocketFd});
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  WriteSmallFile("/proc/self/oom_score_adj", kWorkerScore);
  if (const int error = cgroup.Enter()) {
    GuardLog(std::string("error: worker cannot enter its cgroup: ") + strerror(error));
    _exit(kNotLimited);
  }
  BecomeProgram(program);
  _exit(127);
}

}  // namespace

Outcome<WorkerProcess> WorkerProcess::Start(const std::string& program, const HeldCgroup& cgroup) {
  ASSIGN_OR_FAIL(auto ends, Channel::MakePair());
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return SystemFailure(errno, "fork");
  if (pid == 0) BecomeWorker(program, cgroup, ends.second.fd(), parent);
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) {
    kill(pid, SIGKILL);
    return SystemFailure(errno, "watch the worker");
  }
  return WorkerProcess(pid, std::move(pidfd), std::move(ends.first));
}

WorkerProcess::~WorkerProcess() {
  if (!pidfd_.valid()) return;
  Kill();
  waitpid(pid_, nullptr, WNOHANG);
}

void WorkerProcess::Kill() const { kill(pid_, SIGKILL); }

void WorkerProcess::KillFor(std::string why) {
  kill_reason_ = std::move(why);
  Kill();
}

void WorkerProcess::KillAndAwait() {
  Kill();
  pollfd ended{pidfd_.get(), POLLIN, 0};
  if (poll(&ended, 1, kEndLimitMs) <= 0) return;
  waitpid(pid_, nullptr, 0);
  pidfd_.Reset();
}

std::string WorkerProcess::Reap() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pidfd_.Reset();
  if (!kill_reason_.empty()) return kill_reason_;
  if (WIFSIGNALED(status)) {
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  }
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

void ProtectFromMemoryKiller() { WriteSmallFile("/proc/self/oom_score_adj", "-1000"); }

}  // namespace bucketvol
