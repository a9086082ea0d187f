#include "mounter/cli/mount_status.h"

#include <vector>

#include "absl/time/time.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/worker_limits.h"

namespace bucketvol {
namespace {

// The guard answers by itself when its worker takes longer than 2 s.
constexpr int kAnswerLimitMs = 5'000;

const char* StateName(MountState state) {
  switch (state) {
    case MountState::kBuilding:
      return "building";
    case MountState::kReady:
      return "ready";
    case MountState::kDegraded:
      return "degraded";
    case MountState::kStopped:
      return "stopped";
  }
  return "degraded";  // A word of a newer guard.
}

std::string Rfc3339(absl::Time time) {
  if (time == absl::UnixEpoch()) return "";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace

StatusDocument::Index IndexStatus(const IndexReport& report) {
  StatusDocument::Index index;
  index.keys = report.keys;
  index.files = report.files;
  index.directories = report.directories;
  index.bytes = report.bytes;
  for (int reason = 0; reason < kSkipReasons; ++reason) {
    const uint64_t count = report.skipped[static_cast<size_t>(reason)].count;
    if (count > 0) index.skipped[std::string(SkipReasonName(static_cast<SkipReason>(reason)))] = count;
  }
  index.built_at = Rfc3339(report.built_at);
  index.build_seconds = absl::ToDoubleSeconds(report.build_time);
  index.list_requests = report.list_requests;
  index.list_streams_peak = report.list_streams_peak;
  index.image_bytes = report.image_bytes;
  index.table_bytes = report.table_bytes;
  return index;
}

StatusDocument MountStatus(const GuardReport& report) {
  StatusDocument status = StatusDocument::FromJson(report.document).value_or(StatusDocument());
  status.mountpoint = report.mount_point;
  status.mountpoints = report.mount_points;
  if (status.mountpoints.empty()) status.mountpoints = {report.mount_point};
  status.state = StateName(report.body.state);
  status.transport = report.body.transport == Transport::kFile ? "file" : "loop";
  status.pid = {report.body.guard_pid, report.body.worker_pid, report.body.standby_pid};
  status.worker_restarts = report.body.worker_restarts;
  if (!report.last_error.empty()) status.last_error = report.last_error;
  return status;
}

absl::StatusOr<StatusDocument> AskForStatus(const GuardProcess& guard) {
  ASSIGN_OR_RETURN(const GuardReport report, AskForReport(guard));
  StatusDocument status = MountStatus(report);
  AddUsage(UsageOfWorker(report.body.worker_pid), status);
  return status;
}

absl::StatusOr<GuardReport> AskForReport(const GuardProcess& guard) {
  ASSIGN_OR_RETURN(const Message reply, AskGuard(guard, EncodePacket(MessageType::kStatus, "", ""),
                                                 MessageType::kStatusReply, kAnswerLimitMs));
  const std::vector<std::string> strings = reply.Strings(3);
  return GuardReport{reply.BodyAs<GuardStatusBody>(),
                     strings[0],
                     strings[1],
                     strings[2],
                     {strings.begin() + 3, strings.end()}};
}

void AddUsage(const CgroupUsage& usage, StatusDocument& status) {
  if (usage.memory_limit == 0) return;
  status.memory.limit = usage.memory_limit;
  status.memory.charged = usage.memory_used;
  status.memory.peak = usage.memory_peak;
  status.memory.kills = usage.memory_kills;
  status.cpu.limit = static_cast<double>(usage.cpu_limit_milli) / 1e3;
  status.cpu.used_seconds = static_cast<double>(usage.cpu_usec) / 1e6;
  status.cpu.throttled_seconds = static_cast<double>(usage.throttled_usec) / 1e6;
}

StatusDocument OrphanStatus(absl::string_view mount_point, absl::string_view transport,
                            const IndexManifest* manifest) {
  StatusDocument status;
  status.mountpoint = std::string(mount_point);
  status.mountpoints = {status.mountpoint};
  status.kind = "image";
  status.state = "stopped";
  status.transport = std::string(transport);
  status.index_fs = "erofs";
  status.last_error = "guard has died: reads fail; run bucketvol umount, then mount again";
  if (manifest == nullptr) return status;
  status.source = manifest->source;
  status.index = IndexStatus(manifest->report);
  return status;
}

StatusDocument WithMuteGuard(StatusDocument orphan, const GuardProcess& guard) {
  orphan.state = "degraded";
  orphan.pid.guard = guard.pid;
  orphan.last_error = "guard does not answer (stopped?): reads may work; bucketvol umount --force ends both";
  return orphan;
}

}  // namespace bucketvol
