#include "mounter/options/option_words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/base/log.h"

namespace bucketvol {
namespace {

OptionWord MakeWord(absl::string_view text, OptionPlace place) {
  OptionWord word;
  word.place = place;
  const size_t equals = text.find('=');
  word.name = std::string(absl::StripAsciiWhitespace(text.substr(0, equals)));
  if (equals != absl::string_view::npos) {
    word.value = std::string(absl::StripAsciiWhitespace(text.substr(equals + 1)));
  }
  return word;
}

void AppendList(absl::string_view list, std::vector<OptionWord>& words) {
  for (absl::string_view word : absl::StrSplit(list, ',')) {
    words.push_back(MakeWord(word, OptionPlace::kOtherOpts));
  }
}

absl::Status InvalidOtherOpts(absl::string_view token, absl::string_view rule) {
  const absl::string_view name = token.substr(0, token.find('='));  // The value may be a secret.
  return absl::InvalidArgumentError(absl::StrCat("invalid otherOpts: \"", Printable(name, 64), "\" ", rule));
}

}  // namespace

std::vector<OptionWord> ParseDashO(absl::string_view list, OptionPlace place) {
  std::vector<OptionWord> words;
  std::string word;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '\\' && i + 1 < list.size() && list[i + 1] == ',') {
      word.push_back(list[++i]);
    } else if (list[i] == ',') {
      words.push_back(MakeWord(word, place));
      word.clear();
    } else {
      word.push_back(list[i]);
    }
  }
  if (!list.empty()) words.push_back(MakeWord(word, place));
  return words;
}

absl::StatusOr<std::vector<OptionWord>> ParseOtherOpts(absl::string_view text) {
  std::vector<OptionWord> words;
  bool expect_list = false;
  for (absl::string_view token : absl::StrSplit(text, absl::ByAnyChar(" \t\n\v\f\r"), absl::SkipEmpty())) {
    if (expect_list) {
      AppendList(token, words);
      expect_list = false;
    } else if (token == "-o") {
      expect_list = true;
    } else if (absl::ConsumePrefix(&token, "-o")) {
      AppendList(token, words);
    } else {
      return InvalidOtherOpts(token, "has no -o before it");
    }
  }
  if (expect_list) return InvalidOtherOpts("-o", "at the end has no words behind it");
  return words;
}

}  // namespace bucketvol
