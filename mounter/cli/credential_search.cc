#include "mounter/cli/credential_search.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/exit_code.h"

namespace bucketvol {
namespace {

using Variables = std::map<std::string, std::string>;

struct PairNames {
  const char* id;
  const char* secret;
  const char* token;
};

constexpr PairNames kOss = {"OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN"};
constexpr PairNames kAws = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"};

std::string ValueOf(const Variables& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// All empty: the pair is not there.
absl::StatusOr<SpecCredentials> FromEnvironment(const Variables& environment, const PairNames& names) {
  SpecCredentials found;
  found.access_key_id = ValueOf(environment, names.id);
  found.access_key_secret = Secret(ValueOf(environment, names.secret));
  if (found.access_key_id.empty() != found.access_key_secret.empty()) {
    const bool no_id = found.access_key_id.empty();
    return UsageError(absl::StrCat("half a key pair in the environment: ", no_id ? names.secret : names.id,
                                   " is set, ", no_id ? names.id : names.secret, " is not"));
  }
  if (found.access_key_id.empty()) return found;
  found.session_token = Secret(ValueOf(environment, names.token));
  found.origin = absl::StrCat("environment ", names.id);
  return found;
}

bool IsDirectory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

SpecCredentials FromFile(const char* format, const std::string& path, const std::string& selector) {
  SpecCredentials found;
  found.file_format = format;
  found.file_path = path;
  found.file_selector = selector;
  found.origin = path;
  return found;
}

std::string AwsFile(const Variables& environment, const std::string& home) {
  const std::string named = ValueOf(environment, "AWS_SHARED_CREDENTIALS_FILE");
  if (!named.empty()) return named;
  return home.empty() ? "" : home + "/.aws/credentials";
}

std::string ProfileOf(const Variables& environment, const VolumeOptions& options) {
  return options.profile.empty() ? ValueOf(environment, "AWS_PROFILE") : options.profile;
}

bool IsThere(const std::string& path) { return !path.empty() && access(path.c_str(), F_OK) == 0; }

}  // namespace

absl::StatusOr<SpecCredentials> SearchCredentials(const Variables& environment,
                                                  const VolumeOptions& options) {
  if (options.anonymous) return SpecCredentials();
  if (!options.passwd_file.empty()) {
    const bool directory = IsDirectory(options.passwd_file);
    return FromFile(directory ? "token-directory" : "passwd", options.passwd_file, options.source.bucket);
  }
  for (const PairNames& names : {kOss, kAws}) {
    ASSIGN_OR_RETURN(SpecCredentials found, FromEnvironment(environment, names));
    if (!found.access_key_id.empty()) return found;
  }
  const std::string home = ValueOf(environment, "HOME");
  const std::string aws = AwsFile(environment, home);
  if (IsThere(aws)) return FromFile("aws", aws, ProfileOf(environment, options));
  const std::string ossutil = home.empty() ? "" : home + "/.ossutilconfig";
  if (IsThere(ossutil)) return FromFile("ossutil", ossutil, options.profile);
  return absl::UnauthenticatedError(absl::StrCat(
      "no credentials: set OSS_ACCESS_KEY_ID and OSS_ACCESS_KEY_SECRET (or AWS_ACCESS_KEY_ID and "
      "AWS_SECRET_ACCESS_KEY), give passwd_file=FILE, or anonymous for a public bucket"));
}

}  // namespace bucketvol
