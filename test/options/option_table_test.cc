#include "mounter/options/option_table.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/options/option_help.h"

namespace bucketvol {
namespace {

using ::testing::HasSubstr;

TEST(OptionTableTest, EveryNameIsUnique) {
  std::set<std::string> names;
  for (const OptionRow& row : OptionTable()) {
    EXPECT_TRUE(names.insert(absl::AsciiStrToLower(row.name)).second) << row.name;
    for (const std::string& alias : row.aliases) {
      EXPECT_TRUE(names.insert(absl::AsciiStrToLower(alias)).second) << alias;
    }
  }
}

TEST(OptionTableTest, SettingsOfOtherRowsExist) {
  for (const OptionRow& row : OptionTable()) {
    const OptionRow* setting = FindOption(row.setting_name());
    ASSERT_NE(setting, nullptr) << row.name;
    EXPECT_TRUE(row.setting.empty() || setting->is_setting()) << row.name;
  }
}

TEST(OptionTableTest, SectionsAreInOrderAndTogether) {
  OptionSection before = OptionSection::kSource;
  for (const OptionRow& row : OptionTable()) {
    EXPECT_LE(before, row.section) << row.name;
    before = row.section;
  }
}

TEST(OptionTableTest, EveryDefaultCanBeShownAndSetAgain) {
  const VolumeOptions defaults;
  for (const OptionRow& row : OptionTable()) {
    if (!row.is_setting()) continue;
    VolumeOptions options;
    EXPECT_TRUE(row.value.set(row.value.show(defaults), options)) << row.name;
    EXPECT_EQ(options, defaults) << row.name;
  }
}

TEST(OptionTableTest, ARefusedValueChangesNothing) {
  for (const OptionRow& row : OptionTable()) {
    VolumeOptions options;
    if (!row.is_setting() || row.value.set("\x01?[", options)) continue;
    EXPECT_EQ(options, VolumeOptions()) << row.name;
  }
}

TEST(OptionTableTest, FindsAliasesInAnyCase) {
  EXPECT_EQ(FindOption("HOST"), FindOption("url"));
  EXPECT_EQ(FindOption("x-anything"), FindOption("x-…"));
  EXPECT_EQ(FindOption("nothing"), nullptr);
  EXPECT_EQ(FindOption(""), nullptr);
}

TEST(NearestWordTest, ForgivesSlipsOnly) {
  const std::vector<std::string> words = {"umask", "uid", "resourceLimit", "ro", "region"};
  EXPECT_EQ(NearestWord("umsak", words), "umask");
  EXPECT_EQ(NearestWord("UMASK1", words), "umask");
  EXPECT_EQ(NearestWord("resource_limit", words), "resourceLimit");
  EXPECT_EQ(NearestWord("regoin", words), "region");
  EXPECT_EQ(NearestWord("xyzzy", words), "");
  EXPECT_EQ(NearestWord("x", words), "");
  EXPECT_EQ(NearestWord("", words), "");
  EXPECT_EQ(NearestWord(std::string(100, 'u'), words), "");
}

TEST(OptionHelpTest, NamesEveryOptionWithinTheWidth) {
  const std::string help = OptionHelp();
  for (const OptionRow& row : OptionTable()) EXPECT_THAT(help, HasSubstr("  " + row.name));
  for (const absl::string_view line : absl::StrSplit(help, '\n')) EXPECT_LE(line.size(), 102u) << line;
  EXPECT_THAT(help, HasSubstr("umask=OCTAL"));
  EXPECT_THAT(help, HasSubstr("(default: 022)"));
}

// `make check` runs every test with "generated" in its name after generating.
TEST(OptionDocsTest, TheCheckedInFileIsCurrent) {
  const char* root = std::getenv("BUCKETVOL_SOURCE");
  ASSERT_NE(root, nullptr) << "run by ctest, or set BUCKETVOL_SOURCE";
  std::stringstream stored;
  stored << std::ifstream(std::string(root) + "/docs/options.md").rdbuf();
  EXPECT_EQ(stored.str(), OptionDocs()) << "run: build/bin/option_docs > docs/options.md";
}

}  // namespace
}  // namespace bucketvol
