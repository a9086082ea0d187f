#pragma once

#include <string>

#include "mounter/base/unique_fd.h"
#include "mounter/guard/outcome.h"

namespace bucketvol {

/// Opens for reading, in this process's mount namespace, the regular file that somebody else has open: a
/// descriptor of theirs would keep their namespace, and would give the kernel a path that ends with it. A
/// Failure when `path` does not lead to the very file of `theirs`.
Outcome<UniqueFd> OpenHere(const std::string& path, const UniqueFd& theirs);

}  // namespace bucketvol
