#pragma once

#include <string>
#include <vector>

#include "mounter/guard/channel.h"
#include "mounter/guard/image_mount.h"

namespace bucketvol {

/// What a helper child of the guard reports: the body of a kResult message, with the words of a failure as
/// its string.
struct HelperReport {
  ResultCode code = ResultCode::kOk;
  int32_t error = 0;      // errno of a failed call.
  uint64_t mount_id = 0;  // Of a mount that was made,
  uint64_t device = 0;    // and st_dev of its files.
};

// The work of helper children (see HelperChild).

/// Mounts an image and reports; then does what nobody waits for.
void RunAttach(const Channel& parent, const ImagePlan& plan, const UniqueFd& meta,
               const UniqueFd& fuse_mount);

/// Mounts again what stands elsewhere (MountAgain) and reports.
void RunJoin(const Channel& parent, const std::vector<StandingMount>& standing,
             const std::string& mount_point);

/// Unmounts what is at some mount points and reports the first failure. `flags`: those of umount2.
void RunUnmount(const Channel& parent, const std::vector<std::string>& mount_points, int flags);

}  // namespace bucketvol
