#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// Parses "oss://BUCKET[/PATH]" or "s3://BUCKET[/PATH]". Doubled slashes and those at the ends of the path
/// say nothing.
absl::StatusOr<Source> ParseSource(absl::string_view text);

/// Turns a directory below the bucket's root into the prefix of its keys: "/a//b" becomes "a/b/", "/" becomes
/// "". nullopt for "." and ".." segments, control bytes and more than 1023 bytes (the longest key of OSS).
std::optional<std::string> ParsePrefix(absl::string_view path);

/// Whether `name` may be a bucket of some service: 1-63 of letters, digits, ".", "-" and "_", letter or digit
/// first. Services differ in more than that; they say so themselves.
bool IsBucketName(absl::string_view name);

/// "oss" or "s3".
absl::string_view ProviderName(Provider provider);

}  // namespace bucketvol
