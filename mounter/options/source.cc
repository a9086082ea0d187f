#include "mounter/options/source.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "mounter/base/log.h"

namespace bucketvol {
namespace {

constexpr size_t kMaxBucketName = 63;
constexpr size_t kMaxKey = 1023;
constexpr char kSourceForm[] = "a source is oss://BUCKET[/PATH] or s3://BUCKET[/PATH]";

bool IsAlnum(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

bool ConsumeScheme(absl::string_view& text, Provider& provider) {
  for (const Provider candidate : {Provider::kOss, Provider::kS3}) {
    const std::string scheme = absl::StrCat(ProviderName(candidate), "://");
    if (!absl::StartsWithIgnoreCase(text, scheme)) continue;
    text.remove_prefix(scheme.size());
    provider = candidate;
    return true;
  }
  return false;
}

}  // namespace

absl::string_view ProviderName(Provider provider) { return provider == Provider::kOss ? "oss" : "s3"; }

bool IsBucketName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxBucketName || !IsAlnum(name.front()) || !IsAlnum(name.back()))
    return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return IsAlnum(c) || c == '.' || c == '-' || c == '_'; });
}

std::optional<std::string> ParsePrefix(absl::string_view path) {
  std::string prefix;
  for (absl::string_view segment : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (segment == "." || segment == "..") return std::nullopt;
    absl::StrAppend(&prefix, segment, "/");
  }
  const bool printable = std::none_of(prefix.begin(), prefix.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
  if (!printable || prefix.size() > kMaxKey) return std::nullopt;
  return prefix;
}

absl::StatusOr<Source> ParseSource(absl::string_view text) {
  Source source;
  absl::string_view rest = text;
  if (!ConsumeScheme(rest, source.provider)) {
    return absl::InvalidArgumentError(absl::StrCat(kSourceForm, ": \"", Printable(text, 128), "\""));
  }
  const absl::string_view bucket = rest.substr(0, rest.find('/'));
  if (bucket.find('@') != absl::string_view::npos || bucket.find(':') != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(kSourceForm, "; endpoint and credentials are given by options"));
  }
  if (!IsBucketName(bucket)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "source has no valid bucket name; expected 1-63 letters, digits, \".\", \"-\" or \"_\": \"",
        Printable(bucket, 128), "\""));
  }
  const std::optional<std::string> prefix = ParsePrefix(rest.substr(bucket.size()));
  if (!prefix.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("source path must be a directory below the bucket's root without \".\" or \"..\" "
                     "segments and control bytes: \"",
                     Printable(text, 128), "\""));
  }
  source.bucket = std::string(bucket);
  source.prefix = *prefix;
  return source;
}

std::string Source::ToString() const {
  absl::string_view path = prefix;
  absl::ConsumeSuffix(&path, "/");
  return absl::StrCat(ProviderName(provider), "://", bucket, path.empty() ? "" : "/", path);
}

}  // namespace bucketvol
