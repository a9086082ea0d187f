#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace bucketvol {

/// Where guards have their locks, one for each source and each mount point, whatever their run directories:
/// all that share a /run see each other.
inline constexpr char kLockDirectory[] = "/run/bucketvol/locks";

/// The file whose lock says that somebody mounts, or has mounted, something at a (resolved) mount point.
std::string LockOfMountPoint(absl::string_view mount_point);

/// The file whose lock says that a guard has a source. Its name is the source's (SourceIdentity).
std::string LockOfSource(absl::string_view name);

/// Removes the locks of guards that are dead.
void CollectLocks();

}  // namespace bucketvol
