#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "mounter/options/volume_options.h"
#include "mounter/options/volume_spec.h"

namespace bucketvol {

/// Finds the credentials of a volume on the command line: the option anonymous, passwd_file,
/// OSS_ACCESS_KEY_ID and OSS_ACCESS_KEY_SECRET (OSS_SESSION_TOKEN), AWS_ACCESS_KEY_ID and
/// AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN),
/// ~/.aws/credentials, ~/.ossutilconfig; the first that is there. Half a pair is an error, not a reason to
/// look on.
absl::StatusOr<SpecCredentials> SearchCredentials(const std::map<std::string, std::string>& environment,
                                                  const VolumeOptions& options);

}  // namespace bucketvol
