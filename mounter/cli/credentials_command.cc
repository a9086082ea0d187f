#include "mounter/cli/credentials_command.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/credential_spec.h"
#include "mounter/cli/exit_code.h"
#include "mounter/cli/guard_finder.h"
#include "mounter/cli/guard_orders.h"
#include "mounter/cli/mount_point.h"
#include "mounter/cli/mount_status.h"
#include "mounter/objstore/credentials_chain.h"
#include "mounter/options/option_words.h"
#include "mounter/options/source.h"

namespace bucketvol {
namespace {

absl::StatusOr<CredentialSettings> ParseWords(const CommandContext& context, const Arguments& arguments) {
  CredentialSettings settings;
  for (const std::string& list : arguments.option_lists) {
    for (const OptionWord& word : ParseDashO(list)) {
      const std::string value = word.value.value_or("");
      if (word.name == "anonymous" && value.empty()) {
        settings.anonymous = true;
      } else if (word.name == "profile" && !value.empty()) {
        settings.profile = value;
      } else if (word.name == "passwd_file" && !value.empty()) {
        settings.passwd_file = value[0] == '/' ? value : absl::StrCat(context.working_directory, "/", value);
      } else {
        return UsageError(absl::StrCat("option is not one of credentials: ", word.name,
                                       "; accepted: passwd_file=FILE, profile=NAME, anonymous"));
      }
    }
  }
  return settings;
}

absl::StatusOr<std::string> BucketOf(const GuardProcess& guard) {
  ASSIGN_OR_RETURN(const GuardReport report, AskForReport(guard));
  if (report.body.protocol < kProtocolCredentials) {
    return absl::UnimplementedError(absl::StrCat(
        "guard is of a version that cannot do that; unmount and mount again: ", guard.mount_point));
  }
  ASSIGN_OR_RETURN(const Source source, ParseSource(MountStatus(report).source));
  return source.bucket;
}

absl::StatusOr<SpecCredentials> FindCredentials(const CommandContext& context,
                                                const CredentialSettings& settings) {
  const auto home = context.environment.find("HOME");
  ASSIGN_OR_RETURN(CredentialSource found,
                   ResolveCredentials(settings, {context.environment,
                                                 home == context.environment.end() ? "" : home->second}));
  // A worker sees only the files that it was started with.
  found.file.reset();
  return ToSpecCredentials(found);
}

}  // namespace

absl::Status RunCredentials(const CommandContext& context, const Arguments& arguments) {
  if (arguments.positional.size() != 1)
    return UsageError("usage: bucketvol credentials MOUNTPOINT [-o passwd_file=FILE|profile=NAME|anonymous]");
  ASSIGN_OR_RETURN(CredentialSettings settings, ParseWords(context, arguments));
  const std::string mount_point = ResolveMountPoint(arguments.positional[0]);
  const auto guard = FindGuardOf(mount_point);
  if (!guard) return absl::NotFoundError(absl::StrCat("not mounted by bucketvol: ", mount_point));
  ASSIGN_OR_RETURN(settings.bucket, BucketOf(*guard));
  VolumeSpec spec;
  ASSIGN_OR_RETURN(spec.credentials, FindCredentials(context, settings));
  return SendCredentials(*guard, spec);
}

}  // namespace bucketvol
