#pragma once

#include "absl/status/status.h"

namespace bucketvol {

/// Gives up every capability in every set, and every way to gain one: exec of a set-id program, user id 0,
/// ambient capabilities. Without CAP_SETPCAP the bounding set stays as it is, which then gives nothing
/// either.
absl::Status DropPrivileges();

}  // namespace bucketvol
