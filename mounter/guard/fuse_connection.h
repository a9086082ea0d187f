#pragma once

#include <memory>

#include "mounter/base/unique_fd.h"
#include "mounter/guard/outcome.h"

namespace bucketvol {

/// A FUSE file system that is attached nowhere: no path leads to it, and it ends with its last open file.
struct FuseConnection {
  /// Opens /dev/fuse and makes the mount. Does not wait for the server: the first request (INIT) lies in the
  /// queue.
  static Outcome<FuseConnection> Make();

  /// Whether the kernel has ended the connection (all files closed, or aborted).
  bool Ended() const;
  /// Ends the connection once no other process holds the device: all waiting and later requests fail.
  void Abort() { device.Reset(); }

  UniqueFd device;  // /dev/fuse: whoever reads it serves.
  UniqueFd mount;   // Files are opened below it (openat). Keeps the connection alive while open.
};

}  // namespace bucketvol
