#pragma once

#include <optional>
#include <string>

#include "mounter/objstore/credential_provider.h"

namespace bucketvol {

enum class CredentialFormat {
  kPasswd,          // Lines ID:SECRET or BUCKET:ID:SECRET (the password file of ossfs and s3fs).
  kTokenDirectory,  // A directory of the files AccessKeyId, AccessKeySecret and SecurityToken.
  kAws,             // ~/.aws/credentials
  kOssutil,         // ~/.ossutilconfig of ossutil 1 and 2
};

/// A file that holds credentials and may be rewritten while they are in use.
struct CredentialFile {
  CredentialFormat format = CredentialFormat::kPasswd;
  std::string path;      // Absolute.
  std::string selector;  // kPasswd: the bucket. kAws, kOssutil: the profile; empty: the default one.

  friend bool operator==(const CredentialFile&, const CredentialFile&) = default;
};

/// Where a volume's credentials come from, found once when it is mounted.
struct CredentialSource {
  Credentials values;                  // As found; empty for anonymous requests.
  std::optional<CredentialFile> file;  // What they were read from and are read from again.
  std::string origin;                  // "OSS_ACCESS_KEY_ID of the environment", for messages; no secret.
};

}  // namespace bucketvol
