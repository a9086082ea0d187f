#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mounter/guard/outcome.h"

namespace bucketvol {

/// What a guard owns at the moment, as it writes into its run directory for whoever looks for it: readable
/// also while it is stopped.
///
/// The file `claims` holds entries that end in a NUL byte; the first byte of each tells what it is: 's' the
/// name of a source, 'm' a mount point, 'f' that nothing of it is mounted any more and it owns nothing.
/// Others are skipped.
struct Claims {
  std::vector<std::string> sources;
  std::vector<std::string> mount_points;  // In the order in which they came; where it fades, the last ones.
  bool fading = false;  // Serves the last users of what was unmounted. Another guard may have its source.

  bool HasMountPoint(std::string_view path) const;
  bool HasSource(std::string_view name) const;

  friend bool operator==(const Claims&, const Claims&) = default;
};

std::string EncodeClaims(const Claims& claims);
Claims DecodeClaims(std::string_view bytes);

/// Reads the claims in a run directory; nullopt: its guard has not written any yet, or is of a version that
/// does not.
std::optional<Claims> ReadClaims(const std::string& run_directory);

/// Replaces them, in one step.
Step WriteClaims(const std::string& run_directory, const Claims& claims);

/// Names of the files, for whoever removes them.
inline constexpr const char* kClaimsFiles[] = {"/claims", "/claims.new"};

}  // namespace bucketvol
