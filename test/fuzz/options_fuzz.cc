#include <cstdint>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "mounter/objstore/credentials_parse.h"
#include "mounter/options/option_words.h"
#include "mounter/options/parse_options.h"
#include "mounter/options/proxy.h"
#include "mounter/options/source.h"
#include "mounter/options/volume_spec.h"

// Texts that users and files give: the first byte chooses the parser, the rest is its input. Beside crashes
// it looks for options that do not survive the way to the worker, and for a secret in a message.
namespace bucketvol {
namespace {

constexpr char kSecret[] = "hunter2hunter2";

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckRoundTrip(VolumeOptions options) {
  options.warnings.clear();
  const auto spec = ParseVolumeSpec(SerializeVolumeSpec({options, {}, Secret()}).Reveal());
  Require(spec.ok() && spec->options == options);
  Require(SourceOptionsKey(spec->options) == SourceOptionsKey(options));
}

void CheckOptions(const std::vector<OptionWord>& words, const std::optional<Source>& source) {
  OptionContext context;
  context.working_directory = "/cwd";
  context.home = "/home/me";
  const auto options = ParseVolumeOptions(source, words, context);
  if (options.ok()) CheckRoundTrip(*options);
}

void FuzzDashO(absl::string_view text) {
  CheckOptions(ParseDashO(text), Source{Provider::kOss, "b", ""});
  CheckOptions(ParseDashO(std::string("url=http://h,") + std::string(text)),
               Source{Provider::kS3, "b", "p/"});
}

void FuzzVolume(absl::string_view text) {
  if (const auto words = ParseOtherOpts(text); words.ok()) CheckOptions(*words, std::nullopt);
  CheckOptions(ParseDashO(text, OptionPlace::kAttribute), std::nullopt);
}

void FuzzSource(absl::string_view text) {
  const auto source = ParseSource(text);
  if (!source.ok()) return;
  const auto again = ParseSource(source->ToString());
  Require(again.ok() && *again == *source);
}

/// A secret in the middle of whatever must not come back in the error.
void FuzzCredentialFiles(absl::string_view text) {
  const std::string content =
      std::string(text.substr(0, text.size() / 2)) + kSecret + std::string(text.substr(text.size() / 2));
  for (const auto& parsed : {ParsePasswdFile(content, "b", "/p"), ParseAwsCredentials(content, "", "/p"),
                             ParseOssutilConfig(content, "x", "/p"), ParseOssutilConfig(content, "", "/p")}) {
    if (parsed.ok()) {
      Require(!parsed->access_key_id.empty() && !parsed->access_key_secret.empty());
    } else {
      // The name of a bucket may be told: it is what stands before the first colon.
      Require(!absl::StrContains(parsed.status().message(), kSecret) ||
              absl::StrContains(parsed.status().message(), "second entry for bucket"));
    }
  }
}

void FuzzProxy(absl::string_view text) {
  VolumeOptions options;
  options.url = "https://h:443";
  Secret credentials;
  const absl::Status status =
      ApplyProxyEnvironment({{"https_proxy", std::string(text)}}, options, credentials);
  Require(!status.ok() || options.proxy.find('@') == std::string::npos);
}

}  // namespace
}  // namespace bucketvol

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      bucketvol::FuzzDashO(text);
      break;
    case 1:
      bucketvol::FuzzVolume(text);
      break;
    case 2:
      bucketvol::FuzzSource(text);
      break;
    case 3:
      bucketvol::FuzzCredentialFiles(text);
      break;
    case 4:
      bucketvol::FuzzProxy(text);
      break;
    case 5:
      bucketvol::ParseVolumeSpec(text).IgnoreError();
      break;
  }
  return 0;
}
