#include "mounter/objstore/credentials_chain.h"

#include <sys/stat.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/objstore/credentials_file.h"
#include "mounter/objstore/credentials_parse.h"

namespace bucketvol {
namespace {

struct VariableNames {
  const char* id;
  const char* secret;
  const char* token;
};
constexpr VariableNames kVariables[] = {
    {"OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN"},
    {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"},
};

/// Walks the places in their order and remembers those that held nothing.
class Chain {
 public:
  Chain(const CredentialSettings& settings, const CredentialEnvironment& environment)
      : settings_(settings), environment_(environment) {}

  absl::StatusOr<CredentialSource> Resolve();

 private:
  absl::StatusOr<CredentialSource> FromPasswdFile() const;
  absl::StatusOr<CredentialSource> FromVariables(const VariableNames& names) const;
  absl::StatusOr<CredentialSource> FromNamedProfile() const;
  absl::StatusOr<CredentialSource> Implicit();

  std::string Variable(const std::string& name) const;
  std::string InHome(absl::string_view name) const;
  CredentialFile AwsFile(std::string profile) const;
  CredentialFile OssutilFile(std::string profile) const;

  const CredentialSettings& settings_;
  const CredentialEnvironment& environment_;
};

bool IsDirectory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string OriginOf(const CredentialFile& file) {
  const bool profile = file.format == CredentialFormat::kAws || file.format == CredentialFormat::kOssutil;
  if (!profile || file.selector.empty()) return file.path;
  return absl::StrCat("profile \"", Printable(file.selector, 64), "\" of ", file.path);
}

absl::StatusOr<CredentialSource> FromFile(const CredentialFile& file) {
  ASSIGN_OR_RETURN(Credentials values, LoadCredentialFile(file));
  return CredentialSource{std::move(values), file, OriginOf(file)};
}

std::string Chain::Variable(const std::string& name) const {
  const auto found = environment_.variables.find(name);
  return found == environment_.variables.end() ? "" : found->second;
}

std::string Chain::InHome(absl::string_view name) const {
  return environment_.home.empty() ? "" : absl::StrCat(environment_.home, "/", name);
}

CredentialFile Chain::AwsFile(std::string profile) const {
  std::string path = Variable("AWS_SHARED_CREDENTIALS_FILE");
  if (path.empty()) path = InHome(".aws/credentials");
  return {CredentialFormat::kAws, std::move(path), std::move(profile)};
}

CredentialFile Chain::OssutilFile(std::string profile) const {
  return {CredentialFormat::kOssutil, InHome(".ossutilconfig"), std::move(profile)};
}

absl::StatusOr<CredentialSource> Chain::FromPasswdFile() const {
  const bool directory = IsDirectory(settings_.passwd_file);
  const auto format = directory ? CredentialFormat::kTokenDirectory : CredentialFormat::kPasswd;
  absl::StatusOr<CredentialSource> source =
      FromFile({format, settings_.passwd_file, directory ? "" : settings_.bucket});
  if (!source.ok()) return Annotate(source.status(), "passwd_file");
  return source;
}

absl::StatusOr<CredentialSource> Chain::FromVariables(const VariableNames& names) const {
  const KeyPairNames pair = {"environment", names.id, names.secret};
  ASSIGN_OR_RETURN(Credentials values,
                   MakeCredentials(pair, Variable(names.id), Variable(names.secret), Variable(names.token)));
  return CredentialSource{std::move(values), std::nullopt, absl::StrCat(names.id, " of the environment")};
}

absl::StatusOr<CredentialSource> Chain::FromNamedProfile() const {
  std::vector<std::string> missing;
  for (const CredentialFile& file : {AwsFile(settings_.profile), OssutilFile(settings_.profile)}) {
    if (file.path.empty()) continue;
    absl::StatusOr<CredentialSource> source = FromFile(file);
    if (!absl::IsNotFound(source.status())) return source;
    missing.push_back(std::string(source.status().message()));
  }
  if (missing.empty()) missing.push_back("HOME is not set");
  return absl::NotFoundError(absl::StrCat("profile \"", Printable(settings_.profile, 64),
                                          "\" is not found: ", absl::StrJoin(missing, "; ")));
}

absl::StatusOr<CredentialSource> Chain::Implicit() {
  std::vector<std::string> looked_at;
  for (const VariableNames& names : kVariables) {
    absl::StatusOr<CredentialSource> source = FromVariables(names);
    if (!absl::IsNotFound(source.status())) return source;
    looked_at.push_back(std::string(source.status().message()));
  }
  for (const CredentialFile& file : {AwsFile(Variable("AWS_PROFILE")), OssutilFile("")}) {
    if (file.path.empty()) continue;
    absl::StatusOr<CredentialSource> source = FromFile(file);
    if (!absl::IsNotFound(source.status())) return source;
    looked_at.push_back(std::string(source.status().message()));
  }
  if (environment_.home.empty())
    looked_at.push_back("HOME is not set, so ~/.ossutilconfig was not looked for");
  return absl::UnauthenticatedError(
      absl::StrCat("no credentials: ", absl::StrJoin(looked_at, "; "),
                   "; give passwd_file=FILE, or anonymous for a public bucket"));
}

absl::StatusOr<CredentialSource> Chain::Resolve() {
  if (settings_.anonymous) return CredentialSource{Credentials(), std::nullopt, "anonymous"};
  if (!settings_.passwd_file.empty()) return FromPasswdFile();
  if (!settings_.profile.empty()) return FromNamedProfile();
  return Implicit();
}

}  // namespace

absl::StatusOr<CredentialSource> ResolveCredentials(const CredentialSettings& settings,
                                                    const CredentialEnvironment& environment) {
  return Chain(settings, environment).Resolve();
}

}  // namespace bucketvol
