#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mounter/base/secret.h"
#include "mounter/cli/command_context.h"
#include "mounter/cli/source_identity.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// What a user asked to be mounted or indexed, checked, with the credentials that were found for it.
struct VolumeRequest {
  VolumeOptions options;
  Secret spec;  // All of it for the worker, as bytes.
  SourceIdentity identity;
};

/// Parses SOURCE and the lists of -o, reads proxy variables and finds credentials. Errors of the words are
/// usage errors. Refuses what this version cannot do: volumes of kind fuse and ext4 images.
absl::StatusOr<VolumeRequest> ParseVolumeRequest(const CommandContext& context, const std::string& source,
                                                 const std::vector<std::string>& option_lists);

}  // namespace bucketvol
