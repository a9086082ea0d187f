#include "mounter/guard/guard_helpers.h"

#include <sys/mount.h>

#include <cerrno>
#include <cstring>

namespace bucketvol {

namespace {

void ReportFailure(const Channel& parent, const Failure& failure) {
  HelperReport report;
  report.code = failure.error == EBUSY ? ResultCode::kBusy : ResultCode::kFailed;
  report.error = failure.error;
  (void)parent.SendWaiting(EncodeMessage(MessageType::kResult, report, {failure.text})).ok();
}

Step ReportMount(const Channel& parent, uint64_t mount_id, uint64_t device) {
  HelperReport report;
  report.mount_id = mount_id;
  report.device = device;
  return parent.SendWaiting(EncodeMessage(MessageType::kResult, report));
}

}  // namespace

void RunAttach(const Channel& parent, const ImagePlan& plan, const UniqueFd& meta,
               const UniqueFd& fuse_mount) {
  const auto image = MountImage(plan, meta, fuse_mount);
  if (!image.ok()) return ReportFailure(parent, image.failure());
  if (ReportMount(parent, image.value().mount_id, image.value().device).ok())
    TuneRequests(image.value().loops);
}

void RunJoin(const Channel& parent, const std::vector<StandingMount>& standing,
             const std::string& mount_point) {
  const auto made = MountAgain(standing, mount_point);
  if (!made.ok()) return ReportFailure(parent, made.failure());
  (void)ReportMount(parent, made.value().id, made.value().device).ok();
}

void RunUnmount(const Channel& parent, const std::vector<std::string>& mount_points, int flags) {
  int error = 0;
  for (const std::string& path : mount_points) {
    if (umount2(path.c_str(), flags | UMOUNT_NOFOLLOW) != 0 && error == 0) error = errno;
  }
  if (error != 0) return ReportFailure(parent, Failure{error, strerror(error)});
  (void)ReportMount(parent, 0, 0).ok();
}

}  // namespace bucketvol
