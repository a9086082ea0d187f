#include "mounter/sandbox/privileges.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "mounter/base/errno_status.h"

namespace bucketvol {
namespace {

constexpr unsigned long kSecureBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                      SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                      SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

bool MayChangeSets() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct own[2] = {};
  if (syscall(SYS_capget, &header, own) != 0) return false;
  return (own[CAP_TO_INDEX(CAP_SETPCAP)].effective & CAP_TO_MASK(CAP_SETPCAP)) != 0;
}

absl::Status EmptyBoundingSet() {
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
      return ErrnoToStatus(errno, "empty the bounding set");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DropPrivileges() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoToStatus(errno, "refuse new privileges");
  if (MayChangeSets()) {
    if (absl::Status status = EmptyBoundingSet(); !status.ok()) return status;
    if (prctl(PR_SET_SECUREBITS, kSecureBits, 0, 0, 0) != 0) return ErrnoToStatus(errno, "lock user id 0");
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
    return ErrnoToStatus(errno, "clear ambient capabilities");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0 ? absl::OkStatus()
                                                 : ErrnoToStatus(errno, "drop capabilities");
}

}  // namespace bucketvol
