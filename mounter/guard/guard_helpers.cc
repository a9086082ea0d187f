#include "mounter/guard/guard_helpers.h"

#include <sys/mount.h>

#include <cerrno>
#include <cstring>

namespace bucketvol {

void RunAttach(const Channel& parent, const ImagePlan& plan, const UniqueFd& meta,
               const UniqueFd& fuse_mount) {
  HelperReport report;
  auto image = MountImage(plan, meta, fuse_mount);
  if (!image.ok()) {
    report.code = ResultCode::kFailed;
    report.error = image.failure().error;
    (void)parent.SendWaiting(EncodeMessage(MessageType::kResult, report, {image.failure().text})).ok();
    return;
  }
  report.mount_id = image.value().mount_id;
  report.device = image.value().device;
  if (parent.SendWaiting(EncodeMessage(MessageType::kResult, report)).ok()) TuneRequests(image.value().loops);
}

void RunUnmount(const Channel& parent, const std::string& mount_point, int flags) {
  HelperReport report;
  std::string text;
  if (umount2(mount_point.c_str(), flags | UMOUNT_NOFOLLOW) != 0) {
    report.code = errno == EBUSY ? ResultCode::kBusy : ResultCode::kFailed;
    report.error = errno;
    text = strerror(report.error);
  }
  (void)parent.SendWaiting(EncodeMessage(MessageType::kResult, report, {text})).ok();
}

}  // namespace bucketvol
