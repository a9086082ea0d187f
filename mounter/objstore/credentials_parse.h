#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/objstore/credential_provider.h"

namespace bucketvol {

// Readers of what files hold. `path` is for messages, which name file and line or profile and never a secret.
// NotFound: the file is sound but has nothing for the bucket or profile. InvalidArgument: it must be
// corrected.

/// Reads the password file of ossfs: lines ID:SECRET for all buckets and BUCKET:ID:SECRET for one, which goes
/// first; or OSSAccessKeyId=… and OSSSecretKey=… lines. "#" begins a comment line; blanks at the ends of a
/// line are dropped. Refused: white space within an entry, a line that begins with "[", two entries for one
/// bucket, half an entry.
absl::StatusOr<Credentials> ParsePasswdFile(absl::string_view content, absl::string_view bucket,
                                            absl::string_view path);

/// Reads aws_access_key_id, aws_secret_access_key and aws_session_token of section [profile] (empty:
/// [default]). A profile that needs a role, a single sign-on or a program is refused.
absl::StatusOr<Credentials> ParseAwsCredentials(absl::string_view content, absl::string_view profile,
                                                absl::string_view path);

/// Reads accessKeyID, accessKeySecret and stsToken, whose names ignore case, "-" and "_", of [profile NAME];
/// without a profile, of [default] (ossutil 2) or else [Credentials] (ossutil 1).
absl::StatusOr<Credentials> ParseOssutilConfig(absl::string_view content, absl::string_view profile,
                                               absl::string_view path);

/// What messages call a key pair, and where it stands.
struct KeyPairNames {
  std::string where;  // "profile \"x\" of /p"
  std::string id;     // "aws_access_key_id"
  std::string secret;
};

/// Makes credentials of values from one place, blanks at their ends dropped. NotFound if there is neither id
/// nor secret; InvalidArgument, naming the one that is missing, for half a pair, and for white space within a
/// value.
absl::StatusOr<Credentials> MakeCredentials(const KeyPairNames& names, absl::string_view id,
                                            absl::string_view secret, absl::string_view token);

}  // namespace bucketvol
