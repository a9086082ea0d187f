#include "mounter/cli/interrupts.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

#include "mounter/base/errno_status.h"

namespace bucketvol {

absl::StatusOr<UniqueFd> WatchForInterrupts() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoToStatus(errno, "block signals");
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC));
  if (!fd.valid()) return ErrnoToStatus(errno, "watch signals");
  return fd;
}

bool WasInterrupted(const UniqueFd& interrupts) {
  pollfd ready{interrupts.get(), POLLIN, 0};
  return poll(&ready, 1, 0) > 0;
}

}  // namespace bucketvol
