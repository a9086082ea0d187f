#include "mounter/guard/helper_child.h"

#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace bucketvol {
namespace {

// A killed process that no system call holds is gone in less than a millisecond.
constexpr int kEndLimitMs = 500;

}  // namespace

void CloseAllBut(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  unsigned next = STDERR_FILENO + 1;
  for (const int fd : keep) {
    if (fd < static_cast<int>(next)) continue;
    if (static_cast<unsigned>(fd) > next) close_range(next, static_cast<unsigned>(fd) - 1, 0);
    next = static_cast<unsigned>(fd) + 1;
  }
  close_range(next, ~0U, 0);
}

Outcome<HelperChild> HelperChild::Start(std::vector<int> keep, const Work& work) {
  ASSIGN_OR_FAIL(auto ends, Channel::MakePair());
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return SystemFailure(errno, "fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "bucketvol-help");  // Who looks for guards by name must not find this.
    if (getppid() != parent) _exit(1);
    keep.push_back(ends.second.fd());
    CloseAllBut(std::move(keep));
    work(ends.second);
    _exit(0);
  }
  return HelperChild(pid, std::move(ends.first));
}

void HelperChild::Reap() {
  channel_.Close();
  waitpid(pid_, nullptr, 0);
}

void HelperChild::End() {
  kill(pid_, SIGKILL);
  Message message;
  Channel::Received received = Channel::Received::kMessage;
  while (received == Channel::Received::kMessage) received = channel_.ReceiveWaiting(message, kEndLimitMs);
  if (received == Channel::Received::kClosed) Reap();
}

HelperChild::~HelperChild() {
  if (!channel_.open()) return;
  channel_.Close();
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, WNOHANG);
}

}  // namespace bucketvol
