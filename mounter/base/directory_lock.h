#pragma once

#include <string>

#include "mounter/base/unique_fd.h"

namespace bucketvol {

// Who uses a directory holds a shared lock on it; who would remove it takes it over. The kernel drops a lock
// with its last holder, however that ends, so that a leftover is a directory that nobody holds. No abseil:
// the guard uses it.

/// Holds a directory, several holders at a time; waits while it is being taken over. Returns an errno;
/// ENOENT: it is not there, or was removed meanwhile.
int HoldDirectory(const std::string& path, UniqueFd& lock);

/// Takes a directory over. Invalid when it is not there or somebody holds it.
UniqueFd SeizeDirectory(const std::string& path);

}  // namespace bucketvol
