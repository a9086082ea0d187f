#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bucketvol {

/// Where a user wrote an option. Decides which options are taken and how a message calls the place.
enum class OptionPlace {
  kCommandLine,   // -o of `bucketvol mount` and of fstab
  kAttribute,     // volumeAttributes of a PersistentVolume
  kOtherOpts,     // the volumeAttributes key otherOpts
  kMountOptions,  // mountOptions of a PersistentVolume
};

/// One option as written: a name, and a value if there was a "=".
struct OptionWord {
  std::string name;
  std::optional<std::string> value = std::nullopt;
  OptionPlace place = OptionPlace::kCommandLine;

  friend bool operator==(const OptionWord&, const OptionWord&) = default;
};

/// Splits the argument of -o at commas: "a=b,c". `\,` puts a comma into a value; any other backslash is
/// itself. Keeps empty words ("a,,b"): the parser warns of them.
std::vector<OptionWord> ParseDashO(absl::string_view list, OptionPlace place = OptionPlace::kCommandLine);

/// Splits the volumeAttributes key otherOpts: "-o a=b -o c,d -oe=f" holds a=b, c, d and e=f.
///
/// White space separates tokens; a token is `-o`, which makes the next one a list, or `-oLIST`; lists are
/// split at commas. There are no quotes and no escapes (grammar of the Alibaba Cloud CSI driver, which
/// ignores a final lone
/// `-o`; here it is refused). Anything else is InvalidArgument that quotes the token's name, never its value.
absl::StatusOr<std::vector<OptionWord>> ParseOtherOpts(absl::string_view text);

}  // namespace bucketvol
