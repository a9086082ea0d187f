#include "mounter/cli/source_identity.h"

#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/cli/index_choice.h"
#include "mounter/objstore/digest.h"
#include "mounter/options/option_table.h"
#include "mounter/options/parse_options.h"

namespace bucketvol {
namespace {

// Names of files: half of a digest is more than chance or an attacker can match.
constexpr size_t kHalfDigest = 32;

// Comes from the environment, not from an option.
constexpr char kProxyPassword[] = "password of the proxy";

std::string ShortDigest(absl::string_view text) { return Hex(AsBytes(Sha256(text))).substr(0, kHalfDigest); }

// No two lists of strings make the same text.
std::string Join(std::initializer_list<absl::string_view> strings) {
  std::string text;
  for (const absl::string_view one : strings) absl::StrAppend(&text, one.size(), ":", one);
  return text;
}

using Terms = std::map<std::string, std::string>;

std::string EncodeTerms(const Terms& terms) {
  std::string text;
  for (const auto& [name, value] : terms) absl::StrAppend(&text, name, "=", absl::CEscape(value), "\n");
  return text;
}

Terms DecodeTerms(absl::string_view text) {
  Terms terms;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    std::string value;
    if (absl::CUnescape(parts.second, &value)) terms.emplace(parts.first, std::move(value));
  }
  return terms;
}

std::string ValueIn(const Terms& terms, const Terms& defaults, const std::string& name) {
  for (const Terms* const place : {&terms, &defaults}) {
    if (const auto found = place->find(name); found != place->end()) return found->second;
  }
  return "";
}

std::string Shown(const std::string& name, const std::string& value) {
  const OptionRow* row = FindOption(name);
  if (row == nullptr || row->may_hold_secret) return "another one";
  return value.empty() ? "not set" : absl::StrCat("\"", absl::CEscape(value), "\"");
}

}  // namespace

std::string DigestOf(const SpecCredentials& credentials) {
  if (!credentials.file_path.empty()) return "file";
  return Hex(AsBytes(Sha256(Join({credentials.access_key_id, credentials.access_key_secret.Reveal(),
                                  credentials.session_token.Reveal()}))));
}

std::string WithCredentials(absl::string_view name, const SpecCredentials& credentials) {
  return absl::StrCat(name.substr(0, name.find('-')), "-", ShortDigest(CredentialIdentity(credentials)));
}

SourceIdentity IdentifySource(const VolumeSpec& spec) {
  const IndexKey key = IndexKeyOf(spec);
  SourceIdentity identity;
  identity.name =
      WithCredentials(ShortDigest(Join({key.source, key.endpoint, key.options})), spec.credentials);
  Terms terms = ServingOptions(spec.options);
  if (const std::string& password = spec.proxy_credentials.Reveal(); !password.empty())
    terms[kProxyPassword] = ShortDigest(password);
  identity.terms = EncodeTerms(terms);
  identity.credentials = DigestOf(spec.credentials);
  return identity;
}

absl::Status CompareTerms(absl::string_view ours, absl::string_view theirs, absl::string_view mount_point) {
  const Terms here = DecodeTerms(ours);
  const Terms there = DecodeTerms(theirs);
  const Terms defaults = ServingOptions(VolumeOptions());
  Terms names = here;
  names.insert(there.begin(), there.end());
  for (const auto& [name, unused] : names) {
    const std::string value = ValueIn(there, defaults, name);
    if (ValueIn(here, defaults, name) == value) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "source is mounted at ", mount_point, " with another ", name,
        "; mount with the same options, or unmount it first; there it is: ", Shown(name, value)));
  }
  return absl::OkStatus();
}

}  // namespace bucketvol
