#include "mounter/options/option_help.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "mounter/options/option_table.h"

namespace bucketvol {
namespace {

constexpr size_t kHelpColumn = 34;
constexpr size_t kHelpWidth = 100;

constexpr char kDocsHead[] = R"(# Options

<!-- Made from the option table by `build/bin/option_docs`; a test compares the two. -->

On the command line options follow `-o`, separated by commas (`\,` is a comma inside a value). In a PersistentVolume they are
`volumeAttributes`, words of `otherOpts` (`-o word -o word=value,word`), or `mountOptions`.

- Names are matched in any letter case. A flag may stand alone or take `true`, `false`, `1`, `0`, `yes` or `no`; as an attribute it
  takes `true` or `false`. Attributes must be quoted strings in YAML.
- Times are a number and `ms`, `s`, `m`, `h` or `d` (`1h30m` is fine); a bare number is seconds.
- A value must be understood as a whole, or the mount is refused. An unknown word is refused.
- A word given twice: the last value counts, with a warning. Words that tell which bucket or whose credentials, and different words
  for one setting, must agree.

The column *from* tells where an option may be written: *anywhere*; *words* (everywhere but `volumeAttributes`); *command line*;
*command line\** (from a volume only if the administrator permits the word with `--allow-option`); *Secret* (in a Kubernetes Secret
and nowhere else).
)";

absl::string_view SectionTitle(OptionSection section) {
  switch (section) {
    case OptionSection::kSource:
      return "Source";
    case OptionSection::kEndpoint:
      return "Service";
    case OptionSection::kCredentials:
      return "Credentials";
    case OptionSection::kContent:
      return "What is shown";
    case OptionSection::kIndex:
      return "Index and image";
    case OptionSection::kLimits:
      return "Limits";
    case OptionSection::kNode:
      return "Machine";
    case OptionSection::kMount:
      return "Words of mount(8) and fstab";
  }
  return "";
}

absl::string_view UseText(OptionUse use) {
  switch (use) {
    case OptionUse::kAnywhere:
      return "anywhere";
    case OptionUse::kWords:
      return "words";
    case OptionUse::kPermitted:
      return "command line\\*";
    case OptionUse::kCommandLine:
      return "command line";
    case OptionUse::kSecret:
      return "Secret";
  }
  return "";
}

/// The default as users read it; empty where an option is off or unset without one.
std::string DefaultOf(const OptionRow& row) {
  if (!row.default_text.empty()) return row.default_text;
  if (!row.is_setting()) return "";
  return row.value.show(VolumeOptions());
}

std::string Usage(const OptionRow& row) {
  return row.value.hint.empty() ? row.name : absl::StrCat(row.name, "=", row.value.hint);
}

std::string HelpSentence(const OptionRow& row) {
  std::string text = row.help;
  if (!row.aliases.empty()) absl::StrAppend(&text, "; also ", absl::StrJoin(row.aliases, ", "));
  const std::string default_text = DefaultOf(row);
  const bool plain_flag = row.value.shape == ValueType::Shape::kFlag && default_text == "false";
  if (!default_text.empty() && !plain_flag) absl::StrAppend(&text, " (default: ", default_text, ")");
  return text;
}

/// Appends words to `out`, which is `column` wide by now, and breaks lines with an indent of kHelpColumn.
void AppendWrapped(absl::string_view text, size_t column, std::string& out) {
  bool first = true;
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    if (!first && column + 1 + word.size() > kHelpWidth) {
      absl::StrAppend(&out, "\n", std::string(kHelpColumn, ' '));
      column = kHelpColumn;
    } else if (!first) {
      out.push_back(' ');
      ++column;
    }
    absl::StrAppend(&out, word);
    column += word.size();
    first = false;
  }
  out.push_back('\n');
}

void AppendHelp(const OptionRow& row, std::string& out) {
  const std::string usage = absl::StrCat("  ", Usage(row));
  absl::StrAppend(&out, usage);
  if (usage.size() + 2 > kHelpColumn) {
    absl::StrAppend(&out, "\n", std::string(kHelpColumn, ' '));
  } else {
    out.append(kHelpColumn - usage.size(), ' ');
  }
  AppendWrapped(HelpSentence(row), kHelpColumn, out);
}

std::string Cell(absl::string_view text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

std::string Code(absl::string_view text) { return text.empty() ? "" : absl::StrCat("`", text, "`"); }

/// A default that is a value is set as code; one that is a description is not.
std::string DefaultCell(const OptionRow& row) {
  const std::string text = DefaultOf(row);
  return row.default_text.empty() ? Code(text) : text;
}

void AppendDocsRow(const OptionRow& row, std::string& out) {
  std::string meaning = row.help;
  if (!row.aliases.empty()) {
    absl::StrAppend(&meaning, "; also ",
                    absl::StrJoin(row.aliases, ", ", [](std::string* to, const std::string& alias) {
                      absl::StrAppend(to, Code(alias));
                    }));
  }
  absl::StrAppend(&out, "| ", Cell(Code(Usage(row))), " | ", Cell(DefaultCell(row)), " | ", UseText(row.use),
                  " | ", Cell(meaning), " |\n");
}

}  // namespace

std::string OptionHelp() {
  std::string out;
  const OptionRow* before = nullptr;
  for (const OptionRow& row : OptionTable()) {
    if (before == nullptr || before->section != row.section) {
      absl::StrAppend(&out, before == nullptr ? "" : "\n", SectionTitle(row.section), ":\n");
    }
    AppendHelp(row, out);
    before = &row;
  }
  return out;
}

std::string OptionDocs() {
  std::string out = kDocsHead;
  const OptionRow* before = nullptr;
  for (const OptionRow& row : OptionTable()) {
    if (before == nullptr || before->section != row.section) {
      absl::StrAppend(&out, "\n## ", SectionTitle(row.section), "\n\n| option | default | from | meaning |\n",
                      "|---|---|---|---|\n");
    }
    AppendDocsRow(row, out);
    before = &row;
  }
  return out;
}

}  // namespace bucketvol
