#include "mounter/objstore/credentials_ini.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace bucketvol {
namespace {

constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";

absl::Status Refuse(absl::string_view path, int line, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", problem));
}

std::string SectionName(absl::string_view text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \t\""), absl::SkipEmpty()), " ");
}

bool IsIndented(absl::string_view line) { return !line.empty() && (line[0] == ' ' || line[0] == '\t'); }

}  // namespace

absl::StatusOr<IniFile> ParseIni(absl::string_view content, absl::string_view path) {
  absl::ConsumePrefix(&content, kByteOrderMark);
  IniFile file;
  IniSection* section = nullptr;
  int number = 0;
  for (absl::string_view raw : absl::StrSplit(content, '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      if (line.back() != ']') return Refuse(path, number, "a section has no \"]\" at the end of its line");
      section = &file[SectionName(line.substr(1, line.size() - 2))];
      continue;
    }
    if (IsIndented(raw)) continue;
    const size_t equals = line.find('=');
    if (equals == absl::string_view::npos) return Refuse(path, number, "expected [section] or key = value");
    if (section == nullptr) return Refuse(path, number, "expected a [section] before the first key");
    const std::string key = absl::AsciiStrToLower(absl::StripAsciiWhitespace(line.substr(0, equals)));
    (*section)[key] = std::string(absl::StripAsciiWhitespace(line.substr(equals + 1)));
  }
  return file;
}

}  // namespace bucketvol
