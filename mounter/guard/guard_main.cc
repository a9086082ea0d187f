// bucketvol-guard: owns the mount, the loop devices and /dev/fuse, and starts the worker. Started by
// `bucketvol mount` with an empty environment and its connection on descriptor 3. The arguments hold no
// secrets; `bucketvol status` and `umount` read them to find guards: MOUNTPOINT, then the private run
// directory.

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>

#include "mounter/guard/guard.h"
#include "mounter/guard/guard_log.h"
#include "mounter/guard/guard_privileges.h"
#include "mounter/guard/helper_child.h"
#include "mounter/guard/worker_process.h"

int main(int argc, char** argv) {
  constexpr int kControlFd = 3;
  if (argc != 3) {
    std::fputs("bucketvol-guard is started by `bucketvol mount`\n", stderr);
    return 2;
  }
  prctl(PR_SET_DUMPABLE, 0);
  bucketvol::CloseAllBut({kControlFd});
  bucketvol::ProtectFromMemoryKiller();
  if (const auto kept = bucketvol::KeepGuardPrivileges(); !kept.ok())
    bucketvol::GuardLog("warning: " + kept.failure().text);
  if (chdir("/") != 0) return 1;
  bucketvol::Guard guard(bucketvol::Channel(bucketvol::UniqueFd(kControlFd)), argv[2]);
  return guard.Run();
}
