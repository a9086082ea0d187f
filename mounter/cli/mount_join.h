#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "mounter/base/unique_fd.h"
#include "mounter/cli/console.h"
#include "mounter/cli/guard_finder.h"
#include "mounter/cli/guard_launcher.h"

namespace bucketvol {

/// The guard that has a source (SourceIdentity::name). One of another mount namespace only if its lock is
/// seen here: where /run is another one too, guards do not know of each other.
std::optional<GuardProcess> FindOwner(const std::string& source);

/// Has the guard that has the source of `settings` mount it at the mount point too; waits, with its progress,
/// while it is still making the mount.
///
/// Warns that what is shown was listed before this command began. Other credentials of the same access key,
/// once the service has accepted them, replace those in use; a guard that gave up its workers starts them
/// again first. An error, with nothing left behind, when the source is mounted on other terms (the message
/// names the option), in the foreground or in another mount namespace. Unavailable: the guard ended before it
/// had mounted anything; try again.
absl::Status JoinMount(const GuardProcess& guard, const GuardSettings& settings, const UniqueFd& interrupts,
                       Console& console);

}  // namespace bucketvol
