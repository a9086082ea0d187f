#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mounter/options/option_words.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// What parsing depends on beside the words.
struct OptionContext {
  VolumeKind default_kind = VolumeKind::kImage;
  std::string working_directory;  // Relative paths of the command line start here; empty: they are refused.
  std::string home;               // What "~/" means at the start of a path; empty: it is refused.
  std::vector<std::string> permitted;  // Words with OptionUse::kPermitted that a volume may use all the same.
  bool mount_helper = false;           // Called by mount(8), which adds "rw" by itself.
};

/// Turns the words of a user into checked options.
///
/// `source` is the positional SOURCE of the command line; without one (a volume of Kubernetes) bucket, path
/// and provider are words too. The order of words of one name matters (the last one counts, with a warning),
/// no other order does. Every error is InvalidArgument, one line that names the key, the value and what is
/// accepted; values that may hold a secret are not repeated. Refused: unknown words (naming the nearest known
/// one), words that may not be written at their place, values that do not parse as a whole, words that
/// contradict each other, and a missing bucket or url.
absl::StatusOr<VolumeOptions> ParseVolumeOptions(const std::optional<Source>& source,
                                                 absl::Span<const OptionWord> words,
                                                 const OptionContext& context);

/// The options that change what a mount shows, as text: equal exactly when an index made with one set of
/// options may serve the other. Lines "name=value" of the table's rows marked `seen`.
std::string SourceOptionsKey(const VolumeOptions& options);

/// The options that change how a mount is served, but not what it shows, by name: all that are neither part
/// of SourceOptionsKey nor of the credentials nor `own` in the table. Who joins a mount must agree on them.
/// Two words for the same thing have one value.
std::map<std::string, std::string> ServingOptions(const VolumeOptions& options);

/// "name=value, …" of every option that differs from its default, for the log.
std::string DescribeOptions(const VolumeOptions& options);

}  // namespace bucketvol
