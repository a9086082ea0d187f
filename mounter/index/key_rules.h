#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "mounter/index/index_report.h"

namespace bucketvol {

/// Tells why a key cannot be shown, by its bytes alone. `path`: the key, or what follows a directory already
/// accepted.
///
/// The first segment from the left that is not a name decides; within it the order is empty, "." or "..", too
/// long, NUL. An empty last segment is fine: "a/" marks the directory a. So is an empty path: the marker of
/// the root itself.
std::optional<SkipReason> WhySkipped(absl::string_view path);

}  // namespace bucketvol
