#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace bucketvol {

/// Words of a command line after the name of the command.
struct Arguments {
  std::vector<std::string> positional;
  std::vector<std::string> option_lists;  // The arguments of every -o.
  std::vector<std::string> flags;         // "--json", as given.
  std::string out;                        // The value of --out.
  std::string program;                    // The value of --program.

  bool Has(absl::string_view flag) const;
};

/// Sorts words into flags, lists and the rest. `flags`: those without a value that the command knows; "--"
/// ends them. Usage errors name the word and the nearest known flag.
absl::StatusOr<Arguments> ParseArguments(absl::Span<const std::string> words,
                                         absl::Span<const absl::string_view> flags);

/// The words of a helper of mount(8): SOURCE MOUNTPOINT [-sfnv] [-N NAMESPACE] [-o LIST] [-t TYPE].
struct MountHelperArguments {
  Arguments arguments;
  bool fake = false;  // -f: everything but the mount.
};
absl::StatusOr<MountHelperArguments> ParseMountHelperArguments(absl::Span<const std::string> words);

}  // namespace bucketvol
