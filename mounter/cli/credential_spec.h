#pragma once

#include <array>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "mounter/objstore/credentials_source.h"
#include "mounter/options/volume_spec.h"

namespace bucketvol {

// Credentials as the object store knows them, and as the volume spec carries them: neither library knows the
// other.

inline constexpr std::array<std::pair<CredentialFormat, absl::string_view>, 4> kCredentialFormatWords = {{
    {CredentialFormat::kPasswd, "passwd"},
    {CredentialFormat::kTokenDirectory, "token-directory"},
    {CredentialFormat::kAws, "aws"},
    {CredentialFormat::kOssutil, "ossutil"},
}};

/// For whoever writes a spec.
inline SpecCredentials ToSpecCredentials(const CredentialSource& source) {
  SpecCredentials spec;
  spec.access_key_id = source.values.access_key_id;
  spec.access_key_secret = source.values.access_key_secret;
  spec.session_token = source.values.session_token;
  spec.origin = source.origin;
  if (!source.file.has_value()) return spec;
  spec.file_path = source.file->path;
  spec.file_selector = source.file->selector;
  for (const auto& [format, word] : kCredentialFormatWords) {
    if (format == source.file->format) spec.file_format = std::string(word);
  }
  return spec;
}

/// For the worker. FailedPrecondition for a format that this program does not know.
inline absl::StatusOr<CredentialSource> ToCredentialSource(const SpecCredentials& spec) {
  CredentialSource source;
  source.values = {spec.access_key_id, spec.access_key_secret, spec.session_token};
  source.origin = spec.origin;
  if (spec.file_format.empty()) return source;
  for (const auto& [format, word] : kCredentialFormatWords) {
    if (word != spec.file_format) continue;
    source.file = CredentialFile{format, spec.file_path, spec.file_selector};
    return source;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("volume spec has a credential format this program does not know: ", spec.file_format));
}

}  // namespace bucketvol
