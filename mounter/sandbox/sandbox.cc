#include "mounter/sandbox/sandbox.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>

#include "mounter/base/errno_status.h"
#include "mounter/base/status_macros.h"
#include "mounter/sandbox/file_view.h"
#include "mounter/sandbox/privileges.h"
#include "mounter/sandbox/syscall_filter.h"

namespace bucketvol {

absl::Status HideProcess() {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  return prctl(PR_SET_DUMPABLE, 0) == 0 ? absl::OkStatus() : ErrnoToStatus(errno, "hide the process");
}

absl::Status EnterSandbox(const SandboxSettings& settings) {
  RETURN_IF_ERROR(NarrowFileView(settings));
  RETURN_IF_ERROR(DropPrivileges());
  return FilterSyscalls();
}

void RaiseFileLimit() {
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace bucketvol
