#include "mounter/guard/guard_privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace bucketvol {
namespace {

constexpr uint64_t Bit(unsigned capability) { return uint64_t{1} << capability; }

constexpr uint64_t kKept = Bit(CAP_SYS_ADMIN)       // Mounts, loop devices, namespaces.
                           | Bit(CAP_DAC_OVERRIDE)  // Mount points and directories that belong to users.
                           | Bit(CAP_SETPCAP)       // A worker empties its bounding set.
                           | Bit(CAP_SYS_CHROOT)    // A worker changes its root where pivot_root cannot.
                           | Bit(CAP_IPC_LOCK);     // Memory with secrets is never swapped out.

Step EmptyBoundingSet() {
  for (unsigned capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if ((kKept & Bit(capability)) != 0) continue;
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
      return SystemFailure(errno, "narrow the bounding set");
  }
  return Nothing{};
}

}  // namespace

Step KeepGuardPrivileges() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return SystemFailure(errno, "read capabilities");
  if ((sets[CAP_TO_INDEX(CAP_SETPCAP)].effective & CAP_TO_MASK(CAP_SETPCAP)) != 0)
    RETURN_IF_FAILED(EmptyBoundingSet());
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
    return SystemFailure(errno, "clear ambient capabilities");
  for (unsigned half = 0; half < 2; ++half) {
    sets[half].permitted &= static_cast<uint32_t>(kKept >> (32 * half));
    sets[half].effective &= sets[half].permitted;
    sets[half].inheritable = 0;
  }
  if (syscall(SYS_capset, &header, sets) != 0) return SystemFailure(errno, "drop capabilities");
  return Nothing{};
}

}  // namespace bucketvol
