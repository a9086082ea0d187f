#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/base/secret.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// Grows with every change that a reader must know of; a new row of the option table is none.
inline constexpr uint32_t kVolumeSpecVersion = 1;

/// The credentials of a volume on their way to the worker: a fixed set, or a file to read (and read again
/// when it changes). All empty: anonymous.
struct SpecCredentials {
  std::string access_key_id;
  Secret access_key_secret;
  Secret session_token;
  std::string file_format;    // "passwd", "token-directory", "aws" or "ossutil"; empty: the fixed set.
  std::string file_path;      // Absolute.
  std::string file_selector;  // The bucket of a passwd file, the profile of an ini file.
  std::string origin;         // Where they came from, for messages.

  friend bool operator==(const SpecCredentials&, const SpecCredentials&) = default;
};

/// All that a worker needs to serve a volume.
struct VolumeSpec {
  VolumeOptions options;  // Without the warnings: they were for whoever typed the options.
  SpecCredentials credentials;
  Secret proxy_credentials;  // "user:password", or empty.
};

/// Writes `spec` as proto/volume_spec.proto: every setting of the option table by name and value.
Secret SerializeVolumeSpec(const VolumeSpec& spec);

/// Reads a spec written by this program, an older or a newer one.
///
/// FailedPrecondition if the writer says that this program is too old, or if it set an option that this
/// program does not know or a value it does not accept (the message names the option, not the value). A
/// setting that only a newer writer knows, at its default, is ignored; one that an older writer did not know
/// keeps the default here. DataLoss for bytes that are no spec.
absl::StatusOr<VolumeSpec> ParseVolumeSpec(absl::string_view bytes);

}  // namespace bucketvol
