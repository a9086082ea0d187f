#include "mounter/cli/index_choice.h"

#include "absl/strings/str_cat.h"
#include "mounter/cli/kernel_version.h"
#include "mounter/options/parse_options.h"

namespace bucketvol {

std::string CredentialIdentity(const SpecCredentials& credentials) {
  if (!credentials.file_path.empty()) {
    return absl::StrCat(credentials.file_format, ":", credentials.file_path, ":", credentials.file_selector);
  }
  return credentials.access_key_id.empty() ? "anonymous" : absl::StrCat("key:", credentials.access_key_id);
}

IndexKey IndexKeyOf(const VolumeSpec& spec) {
  return {spec.options.source.ToString(), spec.options.url, SourceOptionsKey(spec.options),
          CredentialIdentity(spec.credentials)};
}

bool IndexFits(const IndexManifest& manifest, const VolumeOptions& options) {
  return manifest.source == options.source.ToString() && manifest.endpoint == options.url &&
         manifest.prefix == options.source.prefix && manifest.options == SourceOptionsKey(options) &&
         (!manifest.needs_48bit || Has48BitErofs(RunningKernel()));
}

bool IsFreshEnough(const IndexManifest& manifest, const VolumeOptions& options, absl::Time asked) {
  const absl::Time built = manifest.report.built_at;
  // The stored time has whole seconds at best; one of the future is a clock that was set back.
  return built > asked || (built <= asked && asked - built <= options.index_max_age &&
                           options.index_max_age > absl::ZeroDuration());
}

}  // namespace bucketvol
