#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "test/bucketd/settings.h"
#include "test/bucketd/synthetic_spec.h"

namespace bucketvol::bucketd {

/// The command line of the server.
struct Options {
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  std::string root;
  std::vector<SyntheticSpec> synthetic;
  int threads = 0;  // 0: one per processor, at most 8.
  std::string tls_certificate;
  std::string tls_key;
  bool help = false;
  Settings settings;
};

/// Reads `--flag value` and `--flag=value`. Errors are one line that names the flag and what it takes.
absl::StatusOr<Options> ParseOptions(absl::Span<char* const> arguments);

absl::string_view HelpText();

}  // namespace bucketvol::bucketd
