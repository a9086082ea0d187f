#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mounter/options/volume_spec.h"

namespace bucketvol {

/// What a volume is to others that might share its mount. None of it is a secret, but it belongs to root.
struct SourceIdentity {
  /// Equal where the same is shown with the same rights: "HEX-HEX", of what is shown and of whose credentials
  /// list it. A secret that is replaced, or a file of credentials that changes, leaves it as it is.
  std::string name;
  /// How it is served: lines "option=value", escaped. Who joins a mount agrees on them.
  std::string terms;
  /// Changes with the credentials themselves, but not with the content of a file of them.
  std::string credentials;
};

SourceIdentity IdentifySource(const VolumeSpec& spec);

/// The name of the source `name` with other credentials.
std::string WithCredentials(absl::string_view name, const SpecCredentials& credentials);
/// What SourceIdentity::credentials says of these.
std::string DigestOf(const SpecCredentials& credentials);

/// OK if a volume with the terms `ours` may be served as `theirs` say. An option that only one of two
/// versions knows must have its default. FailedPrecondition: names the first option that differs, and what it
/// is there. `mount_point`: where the source is mounted.
absl::Status CompareTerms(absl::string_view ours, absl::string_view theirs, absl::string_view mount_point);

}  // namespace bucketvol
