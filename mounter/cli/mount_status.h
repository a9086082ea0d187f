#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/cgroup/usage.h"
#include "mounter/cli/guard_finder.h"
#include "mounter/guard/protocol.h"
#include "mounter/index/index_file.h"
#include "mounter/telemetry/status_document.h"

namespace bucketvol {

/// What a guard told of one mount.
struct GuardReport {
  GuardStatusBody body;
  std::string mount_point;
  std::string last_error;
  std::string document;                        // Of the worker; empty or unreadable while there is none.
  std::vector<std::string> mount_points = {};  // All; none told by a guard of an earlier version.
};

/// The whole status of a guarded mount: the worker's part with the guard's on top. Of its mount points it is
/// that of the first one.
StatusDocument MountStatus(const GuardReport& report);

/// Asks a guard what it knows of its mount. Unavailable: the guard is gone or mute.
absl::StatusOr<GuardReport> AskForReport(const GuardProcess& guard);
/// The same as a status.
absl::StatusOr<StatusDocument> AskForStatus(const GuardProcess& guard);
/// Adds what the worker's cgroup has used; nothing where it has none.
void AddUsage(const CgroupUsage& usage, StatusDocument& status);

/// The status of a mount that has lost its guard. `manifest` may be null: it was removed or damaged.
StatusDocument OrphanStatus(absl::string_view mount_point, absl::string_view transport,
                            const IndexManifest* manifest);

/// Makes that of an OrphanStatus whose guard lives, but does not answer.
StatusDocument WithMuteGuard(StatusDocument orphan, const GuardProcess& guard);

/// The part of an index's report that the status shows.
StatusDocument::Index IndexStatus(const IndexReport& report);

}  // namespace bucketvol
