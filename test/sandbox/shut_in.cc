#include "test/sandbox/shut_in.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bucketvol::testing {

Ending InProcess(const std::function<int()>& work) {
  Ending ending;
  int errors[2];
  if (pipe(errors) != 0) return ending;
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(errors[1], STDERR_FILENO);
    close(errors[0]);
    close(errors[1]);
    _exit(work());
  }
  close(errors[1]);
  char buffer[4096];
  ssize_t got;
  while ((got = read(errors[0], buffer, sizeof buffer)) > 0)
    ending.errors.append(buffer, static_cast<size_t>(got));
  close(errors[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status)) ending.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  return ending;
}

bool MayMount() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct own[2] = {};
  if (syscall(SYS_capget, &header, own) != 0) return false;
  return (own[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0;
}

}  // namespace bucketvol::testing
