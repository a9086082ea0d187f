#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mounter/base/unique_fd.h"
#include "mounter/guard/loop_device.h"
#include "mounter/guard/outcome.h"
#include "mounter/guard/protocol.h"

namespace bucketvol {

/// Everything needed to turn an index and a FUSE connection into a mounted image.
struct ImagePlan {
  Transport transport = Transport::kLoop;
  std::string mount_point;
  std::string meta_path;  // The metadata image; `meta` is the same file, open.
  uint32_t devices = 0;
  uint32_t read_ahead_kb = 1024;
};

/// What stands after a successful mount. The file system holds its loop devices itself: they go with it, once
/// the ones here are closed.
struct MountedImage {
  uint64_t mount_id = 0;
  uint64_t device = 0;  // st_dev of its files.
  std::vector<LoopDevice> loops;
};

/// Mounts an image: opens the data files of the FUSE connection, puts loop devices over them and over the
/// metadata image (or names the files to EROFS, with Transport::kFile), mounts EROFS read-only, nosuid and
/// nodev, lists its root, and only then attaches it to the mount point. A failure leaves nothing.
///
/// Blocks on the server of the FUSE connection: call it in a helper child that holds no descriptor of
/// /dev/fuse, so that the connection can be aborted under it.
Outcome<MountedImage> MountImage(const ImagePlan& plan, const UniqueFd& meta, const UniqueFd& fuse_mount);

/// A mount that stands somewhere.
struct StandingMount {
  std::string path;
  uint64_t id = 0;
  uint64_t device = 0;
};

/// Mounts at `mount_point` what stands at one of `standing`, the first that can be reached: mounts laid over
/// it may hide one. The new mount is a peer of none: what is mounted below one does not appear in the other.
/// Asks no server.
Outcome<StandingMount> MountAgain(const std::vector<StandingMount>& standing, const std::string& mount_point);

/// Sets the request size of the devices. Takes about 15 ms each, so that it is for after the mount.
void TuneRequests(const std::vector<LoopDevice>& loops);

}  // namespace bucketvol
