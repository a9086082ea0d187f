#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "mounter/objstore/credentials_source.h"

namespace bucketvol {

/// What the user said about credentials.
struct CredentialSettings {
  bool anonymous = false;
  std::string passwd_file;  // Absolute path of a password file or token directory; empty: none.
  std::string profile;      // Empty: none was named.
  std::string bucket;
};

/// What the process was given. Read in main only, and passed in.
struct CredentialEnvironment {
  std::map<std::string, std::string> variables;
  std::string home;  // Empty: there is none.
};

/// Finds the credentials of a volume, once, when it is mounted.
///
/// What the user named is used or refused: `anonymous`, passwd_file, profile. Else the first of these that is
/// there: OSS_ACCESS_KEY_ID with OSS_ACCESS_KEY_SECRET and perhaps OSS_SESSION_TOKEN; AWS_ACCESS_KEY_ID with
/// AWS_SECRET_ACCESS_KEY and perhaps AWS_SESSION_TOKEN; ~/.aws/credentials (or AWS_SHARED_CREDENTIALS_FILE),
/// profile AWS_PROFILE or default; ~/.ossutilconfig. A place that is there but wrong (half a key pair, a bad
/// line, a role) is an error: the next one is not tried. Unauthenticated, with all that was looked at, if
/// nothing is found.
absl::StatusOr<CredentialSource> ResolveCredentials(const CredentialSettings& settings,
                                                    const CredentialEnvironment& environment);

}  // namespace bucketvol
