#include "mounter/guard/fuse_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>

#include <cerrno>

#include "mounter/guard/fs_context.h"

namespace bucketvol {

Outcome<FuseConnection> FuseConnection::Make() {
  FuseConnection made;
  made.device = UniqueFd(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!made.device.valid()) {
    return SystemFailure(errno,
                         "FUSE is not available: open /dev/fuse (load the module fuse, or give the container "
                         "/dev/fuse)");
  }
  ASSIGN_OR_FAIL(FsContext context, FsContext::Open("fuse"));
  RETURN_IF_FAILED(context.Set("source", "bucketvol"));
  RETURN_IF_FAILED(context.Set("fd", std::to_string(made.device.get())));
  RETURN_IF_FAILED(context.Set("rootmode", "40000"));
  RETURN_IF_FAILED(context.Set("user_id", "0"));
  RETURN_IF_FAILED(context.Set("group_id", "0"));
  // The kernel reads on behalf of whoever uses the image.
  RETURN_IF_FAILED(context.SetFlag("allow_other"));
  RETURN_IF_FAILED(context.Create());
  ASSIGN_OR_FAIL(made.mount, context.Mount(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
  return made;
}

bool FuseConnection::Ended() const {
  if (!device.valid()) return true;
  // Never part of the guard's own poll set: every request would wake it.
  pollfd state{device.get(), 0, 0};
  return poll(&state, 1, 0) > 0 && (state.revents & POLLERR) != 0;
}

}  // namespace bucketvol
