#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mounter/options/option_value.h"

namespace bucketvol {

/// Headings of `--help` and docs/options.md, in their order.
enum class OptionSection { kSource, kEndpoint, kCredentials, kContent, kIndex, kLimits, kNode, kMount };

/// Where an option may be written.
enum class OptionUse {
  kAnywhere,     // Command line, volumeAttributes, otherOpts, mountOptions.
  kWords,        // All but volumeAttributes: words of mount(8).
  kPermitted,    // Names a file or a host of the node: from a volume only if the administrator permits the
                 // word.
  kCommandLine,  // From a volume never: the node plugin has flags of its own.
  kSecret,       // Only in a Kubernetes Secret, never as an option.
};

/// Which kinds of volume an option changes. On another kind it is accepted with a warning.
enum class OptionKinds { kBoth, kImage, kFuse };

/// One option. Everything that knows options walks the table of these: the parser, `--help`, docs/options.md,
/// the volume spec for the worker, and the key that tells whether an index fits. A new option is a new row.
struct OptionRow {
  std::string name = {};                  // As the documentation spells it; matched in any letter case.
  std::vector<std::string> aliases = {};  // Other spellings of the same option.
  OptionSection section = OptionSection::kSource;
  std::string help = {};  // One line, no full stop.
  ValueType value = {};
  OptionUse use = OptionUse::kAnywhere;
  OptionKinds kinds = OptionKinds::kBoth;
  std::string setting = {};  // Name of the row whose field this one writes too; empty: a field of its own.
  std::string default_text = {};  // Shown in place of the field's own default where that says nothing.
  bool identity = false;         // Tells which bucket or whose credentials: two different values are refused.
  bool seen = false;             // Changes what a mount shows: part of SourceOptionsKey.
  bool own = false;              // Does not matter to others that are served by the same worker.
  bool may_hold_secret = false;  // The value is never repeated in a message.

  /// The name under which the value is kept: two rows with one setting must agree.
  const std::string& setting_name() const { return setting.empty() ? name : setting; }
  /// Whether the row stands for a field of VolumeOptions by itself, and so is shown and handed to the worker.
  bool is_setting() const { return setting.empty() && value.show != nullptr; }
};

/// All rows, by section, in the order of the documentation. Built once, constant.
absl::Span<const OptionRow> OptionTable();

/// The row that has `name` as its name or an alias, in any letter case; null if none has. "x-…" is one row.
const OptionRow* FindOption(absl::string_view name);

/// The word of `names` that was probably meant by `word`; empty if none is near.
std::string NearestWord(absl::string_view word, const std::vector<std::string>& names);

}  // namespace bucketvol
