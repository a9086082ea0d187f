#include "mounter/cli/arguments.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/exit_code.h"

namespace bucketvol {
namespace {

constexpr absl::string_view kHelp = "--help";

absl::Status UnknownFlag(absl::string_view word, absl::Span<const absl::string_view> flags) {
  std::vector<absl::string_view> known(flags.begin(), flags.end());
  known.push_back(kHelp);
  return UsageError(absl::StrCat("unknown flag ", word, "; this command knows ", absl::StrJoin(known, ", ")));
}

// Takes the value of the flag at words[i]: glued to it ("-ofoo", "--out=foo") or the next word.
absl::StatusOr<std::string> TakeValue(absl::Span<const std::string> words, size_t& i, absl::string_view glued,
                                      absl::string_view flag) {
  if (!glued.empty()) return std::string(absl::StripPrefix(glued, "="));
  if (i + 1 >= words.size()) return UsageError(absl::StrCat(flag, " needs a value"));
  return words[++i];
}

}  // namespace

bool Arguments::Has(absl::string_view flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

absl::StatusOr<Arguments> ParseArguments(absl::Span<const std::string> words,
                                         absl::Span<const absl::string_view> flags) {
  Arguments out;
  bool only_positional = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const absl::string_view word = words[i];
    if (only_positional || !absl::StartsWith(word, "-") || word == "-") {
      out.positional.emplace_back(word);
    } else if (word == "--") {
      only_positional = true;
    } else if (word == "-h" || word == kHelp) {
      out.flags.emplace_back(kHelp);
    } else if (std::find(flags.begin(), flags.end(), word) != flags.end()) {
      out.flags.emplace_back(word);
    } else if (word == "--out" || absl::StartsWith(word, "--out=")) {
      ASSIGN_OR_RETURN(out.out, TakeValue(words, i, absl::StripPrefix(word, "--out"), "--out"));
    } else if (word == "--program" || absl::StartsWith(word, "--program=")) {
      ASSIGN_OR_RETURN(out.program, TakeValue(words, i, absl::StripPrefix(word, "--program"), "--program"));
    } else if (absl::StartsWith(word, "-o")) {
      ASSIGN_OR_RETURN(std::string list, TakeValue(words, i, absl::StripPrefix(word, "-o"), "-o"));
      out.option_lists.push_back(std::move(list));
    } else {
      return UnknownFlag(word, flags);
    }
  }
  return out;
}

absl::StatusOr<MountHelperArguments> ParseMountHelperArguments(absl::Span<const std::string> words) {
  MountHelperArguments out;
  std::vector<std::string> rest;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-t" || word == "-N") {
      ++i;
    } else if (word.size() > 1 && word[0] == '-' &&
               word.find_first_not_of("sfnvrw", 1) == std::string::npos) {
      out.fake |= word.find('f') != std::string::npos;
    } else {
      rest.push_back(word);
    }
  }
  ASSIGN_OR_RETURN(out.arguments, ParseArguments(rest, {}));
  return out;
}

}  // namespace bucketvol
