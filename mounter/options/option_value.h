#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

// Parsers of values. Each takes the whole text or nothing: "10k" is no number. None accepts a sign or white
// space.

/// Parses decimal digits within [low, high].
std::optional<uint64_t> ParseInteger(absl::string_view text, uint64_t low, uint64_t high);
/// Parses true, false, 1, 0, yes or no in any case.
std::optional<bool> ParseBool(absl::string_view text);
/// Parses 1 to 4 octal digits up to 0777.
std::optional<uint32_t> ParsePermissions(absl::string_view text);
/// Parses digits, with a fraction of up to three, up to `high`.
std::optional<double> ParseDecimal(absl::string_view text, double high);
/// Parses bytes: digits and one of B, KB MB GB TB (powers of 1000), KiB MiB GiB TiB (of 1024), or none for
/// bytes.
std::optional<uint64_t> ParseSize(absl::string_view text);
/// Parses a time: "500ms", "1.5s", "2m", "1h30m", "7d"; a bare number is seconds.
std::optional<absl::Duration> ParseTime(absl::string_view text);
/// Parses "<cpus>c<GiB>g" in any case, 0.1 to 1024 cpus, 0.125 to 65536 GiB, with up to three decimals.
std::optional<ResourceLimit> ParseResourceLimit(absl::string_view text);

/// Reaches one field of the options; a pointer to a member will do.
template <typename T>
using Field = std::function<T&(VolumeOptions&)>;

/// Reads a field of options that are const: a Field returns a reference for writing, through which nothing is
/// written.
template <typename T>
const T& ReadField(const Field<T>& field, const VolumeOptions& options) {
  return field(const_cast<VolumeOptions&>(options));
}

/// What an option's value may be: how it is read into VolumeOptions and shown again.
///
/// For every value that `set` accepts, set(show(options)) gives the same options.
struct ValueType {
  enum class Shape {
    kFlag,     // May stand without a value, which means true.
    kValue,    // Needs a value.
    kPath,     // Needs a value, which becomes an absolute path before it is set.
    kIgnored,  // Takes anything and does nothing.
  };
  Shape shape = Shape::kValue;
  std::string hint;     // For `NAME=hint` in the help; empty for a flag.
  std::string accepts;  // Completes "expected …".
  std::function<bool(absl::string_view, VolumeOptions&)> set;  // False: not accepted, options unchanged.
  std::function<std::string(const VolumeOptions&)> show;
};

enum class LetterCase { kExact, kAny };

ValueType IgnoredValue();
ValueType FlagValue(Field<bool> field);
/// A flag whose being set means `false` in the field.
ValueType InvertedFlagValue(Field<bool> field);
ValueType TextValue(std::string hint, Field<std::string> field);
ValueType PathValue(std::string hint, Field<std::string> field);
/// Text that `check` takes; an empty one always passes, so that "unset" can be shown and set again.
ValueType CheckedTextValue(std::string hint, std::string accepts, Field<std::string> field,
                           bool (*check)(absl::string_view));
ValueType IdValue(std::string hint, Field<uint32_t> field);
ValueType PermissionsValue(Field<uint32_t> field);
/// An integer in [low, high], or the word `zero_word` for 0.
ValueType CountValue(const std::string& zero_word, int low, int high, Field<int> field);
/// A size in [low, high], or the word `zero_word` for 0.
ValueType SizeValue(const std::string& zero_word, uint64_t low, uint64_t high, Field<uint64_t> field);
ValueType RateValue(Field<double> field);
ValueType TimeValue(absl::Duration low, absl::Duration high, Field<absl::Duration> field);
ValueType ResourceLimitValue(Field<std::optional<ResourceLimit>> field);

/// A word that stands for a value. One that is not told to users is read all the same.
template <typename Enum>
struct ChoiceWord {
  std::string word;
  Enum value;
  bool told = true;
};

/// One of several words. The first word of a value is the one shown.
template <typename Enum>
ValueType ChoiceValue(LetterCase letters, std::vector<ChoiceWord<Enum>> words, Field<Enum> field);

/// "a, b or c" of what the user may write.
std::string JoinChoices(const std::vector<std::string>& words);
std::string JoinHint(const std::vector<std::string>& words);

template <typename Enum>
ValueType ChoiceValue(LetterCase letters, std::vector<ChoiceWord<Enum>> words, Field<Enum> field) {
  std::vector<std::string> told;
  for (const auto& choice : words) {
    if (choice.told) told.push_back(choice.word);
  }
  ValueType type;
  type.hint = JoinHint(told);
  type.accepts = JoinChoices(told);
  type.set = [letters, words, field](absl::string_view text, VolumeOptions& options) {
    for (const auto& choice : words) {
      const bool same =
          letters == LetterCase::kAny ? absl::EqualsIgnoreCase(text, choice.word) : text == choice.word;
      if (!same) continue;
      field(options) = choice.value;
      return true;
    }
    return false;
  };
  type.show = [words, field](const VolumeOptions& options) -> std::string {
    const Enum& value = ReadField(field, options);
    for (const auto& choice : words) {
      if (choice.value == value) return choice.word;
    }
    return "";
  };
  return type;
}

}  // namespace bucketvol
