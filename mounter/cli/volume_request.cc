#include "mounter/cli/volume_request.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/credential_spec.h"
#include "mounter/cli/exit_code.h"
#include "mounter/cli/worker_limits.h"
#include "mounter/objstore/credentials_chain.h"
#include "mounter/options/option_words.h"
#include "mounter/options/parse_options.h"
#include "mounter/options/proxy.h"
#include "mounter/options/source.h"
#include "mounter/options/volume_spec.h"

namespace bucketvol {
namespace {

std::string ValueOf(const std::map<std::string, std::string>& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

absl::Status RefuseWhatIsNotThere(const VolumeOptions& options) {
  if (options.kind == VolumeKind::kFuse) {
    return UsageError("fuseType=fuse is not supported by this version; accepted: image");
  }
  if (options.index_fs == IndexFs::kExt4) {
    return UsageError("index_fs=ext4 is not supported by this version; accepted: auto, erofs");
  }
  return absl::OkStatus();
}

absl::StatusOr<VolumeOptions> ParseWords(const CommandContext& context, const std::string& source,
                                         const std::vector<std::string>& option_lists) {
  ASSIGN_OR_RETURN(const Source parsed, ParseSource(source));
  std::vector<OptionWord> words;
  for (const std::string& list : option_lists) {
    for (OptionWord& word : ParseDashO(list)) words.push_back(std::move(word));
  }
  OptionContext options_context;
  options_context.working_directory = context.working_directory;
  options_context.home = ValueOf(context.environment, "HOME");
  options_context.mount_helper = context.mount_helper;
  return ParseVolumeOptions(parsed, words, options_context);
}

absl::StatusOr<SpecCredentials> FindCredentials(const CommandContext& context, const VolumeOptions& options) {
  CredentialSettings settings;
  settings.anonymous = options.anonymous;
  settings.passwd_file = options.passwd_file;
  settings.profile = options.profile;
  settings.bucket = options.source.bucket;
  ASSIGN_OR_RETURN(const CredentialSource source,
                   ResolveCredentials(settings, {context.environment, ValueOf(context.environment, "HOME")}));
  return ToSpecCredentials(source);
}

}  // namespace

absl::StatusOr<VolumeRequest> ParseVolumeRequest(const CommandContext& context, const std::string& source,
                                                 const std::vector<std::string>& option_lists) {
  auto options = ParseWords(context, source, option_lists);
  RETURN_IF_ERROR(AsUsageError(options.status()));
  RETURN_IF_ERROR(RefuseWhatIsNotThere(*options));
  ClampLimits(*options);
  VolumeSpec spec;
  RETURN_IF_ERROR(AsUsageError(ApplyProxyEnvironment(context.environment, *options, spec.proxy_credentials)));
  ASSIGN_OR_RETURN(spec.credentials, FindCredentials(context, *options));
  spec.options = *options;
  VolumeRequest request;
  request.spec = SerializeVolumeSpec(spec);
  request.identity = IdentifySource(spec);
  request.options = *std::move(options);
  return request;
}

}  // namespace bucketvol
