#pragma once

#include <string>

#include "absl/time/time.h"
#include "mounter/cli/index_store.h"
#include "mounter/options/volume_options.h"
#include "mounter/options/volume_spec.h"

namespace bucketvol {

/// Whose credentials they are: what stays the same when secrets, or the content of a file, are replaced.
std::string CredentialIdentity(const SpecCredentials& credentials);

/// Which index on disk belongs to a volume.
IndexKey IndexKeyOf(const VolumeSpec& spec);

/// Whether an index shows what the options ask for, on this kernel.
bool IndexFits(const IndexManifest& manifest, const VolumeOptions& options);

/// Whether an index may be used without listing again: not older than `index_max_age`, or begun after
/// `asked`, when the mount was asked for (by another mount of the same source that was served first).
bool IsFreshEnough(const IndexManifest& manifest, const VolumeOptions& options, absl::Time asked);

}  // namespace bucketvol
