#include "mounter/cli/guard_launcher.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/errno_status.h"
#include "mounter/cgroup/held_cgroup.h"
#include "mounter/cli/guard_locks.h"
#include "mounter/cli/mount_point.h"
#include "mounter/guard/helper_child.h"
#include "mounter/guard/run_directory.h"

namespace bucketvol {
namespace {

constexpr int kGuardSocket = 3;
// Exit codes of a guard that never ran.
constexpr int kNoNetwork = 125;
constexpr int kNoCgroup = 126;
constexpr int kNoProgram = 127;
// A guard takes seconds at most to end; it kills a worker that does not.
constexpr int kEndLimitMs = 30'000;

[[noreturn]] void BecomeGuard(const std::string& program, const GuardSettings& settings, int socket) {
  setsid();
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  if (settings.attached == KeepAttached::kNo) dup2(nothing, STDERR_FILENO);
  if (socket == kGuardSocket)
    fcntl(kGuardSocket, F_SETFD, 0);
  else
    dup2(socket, kGuardSocket);
  if (settings.network >= 0 && setns(settings.network, CLONE_NEWNET) != 0) _exit(kNoNetwork);
  CloseAllBut({kGuardSocket});
  if (EnterCgroup(settings.guard_cgroup) != 0) _exit(kNoCgroup);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const char* arguments[] = {"bucketvol-guard", settings.mount_point.c_str(), settings.run_directory.c_str(),
                             nullptr};
  char* environment[] = {nullptr};
  execve(program.c_str(), const_cast<char**>(arguments), environment);
  _exit(kNoProgram);
}

}  // namespace

GuardLaunch::GuardLaunch(pid_t pid, Channel channel, GuardSettings settings)
    : pid_(pid),
      channel_(std::move(channel)),
      mount_point_(std::move(settings.mount_point)),
      run_directory_(std::move(settings.run_directory)) {}

absl::StatusOr<GuardLaunch> GuardLaunch::Start(const GuardSettings& settings) {
  const std::string program = settings.program_directory + "/bucketvol-guard";
  if (access(program.c_str(), X_OK) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("installation is not complete: ", program));
  }
  auto ends = Channel::MakePair();
  if (!ends.ok()) return absl::InternalError(ends.failure().text);
  const pid_t pid = fork();
  if (pid < 0) return ErrnoToStatus(errno, "fork");
  if (pid == 0) BecomeGuard(program, settings, ends.value().second.fd());
  GuardLaunch launch(pid, std::move(ends.value().first), settings);
  MountBody body;
  body.transport = settings.transport;
  body.foreground = settings.attached == KeepAttached::kYes ? 1 : 0;
  body.request_timeout_ms = static_cast<uint32_t>(absl::ToInt64Milliseconds(settings.request_timeout));
  const std::string cgroup = JoinDirectories(settings.worker_cgroup);
  const Step sent = launch.channel_.Send(
      EncodeMessage(MessageType::kMount, body,
                    {settings.mount_point, settings.worker_program(), settings.spec, cgroup,
                     LockOfMountPoint(settings.mount_point), LockOfSource(settings.identity.name),
                     settings.identity.terms, settings.identity.credentials}));
  if (!sent.ok()) return absl::InternalError(absl::StrCat("tell the guard: ", sent.failure().text));
  return launch;
}

GuardLaunch::~GuardLaunch() {
  if (!channel_.open()) return;
  channel_.Close();
  if (committed_) return;
  AwaitEnd();
}

absl::Status GuardLaunch::Commit() {
  const Step sent = channel_.Send(EncodePacket(MessageType::kCommit, "", ""));
  if (!sent.ok()) return absl::UnavailableError("guard ended as soon as it had mounted");
  committed_ = true;
  return absl::OkStatus();
}

std::string GuardLaunch::AwaitEnd() {
  if (pid_ <= 0) return "";
  int status = 0;
  for (int waited_ms = 0; waitpid(pid_, &status, WNOHANG) == 0; ++waited_ms) {
    if (waited_ms > kEndLimitMs) return "guard does not end";
    usleep(1000);
  }
  pid_ = 0;
  if (WIFSIGNALED(status)) {
    RemoveRemains();
    return absl::StrCat("guard was killed by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)),
                        ")");
  }
  if (WEXITSTATUS(status) == kNoNetwork) return "guard could not enter the host's network";
  if (WEXITSTATUS(status) == kNoCgroup) return "guard could not enter its cgroup";
  return WEXITSTATUS(status) == kNoProgram ? "guard could not be started" : "";
}

// What a killed guard could not take down. Its worker and its helpers died with it.
void GuardLaunch::RemoveRemains() {
  for (const ImageMount& mount : FindImageMounts()) {
    if (mount.mount_point == mount_point_) umount2(mount_point_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  }
  RunDirectory::RemoveStale(run_directory_);
}

}  // namespace bucketvol
