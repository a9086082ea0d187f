#include "mounter/options/option_words.h"

#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

OptionWord Flag(const char* name, OptionPlace place) { return {name, std::nullopt, place}; }
OptionWord Word(const char* name, const char* value, OptionPlace place) { return {name, value, place}; }

OptionWord Typed(const char* name, const char* value) { return Word(name, value, OptionPlace::kCommandLine); }
OptionWord Typed(const char* name) { return Flag(name, OptionPlace::kCommandLine); }
OptionWord Other(const char* name, const char* value) { return Word(name, value, OptionPlace::kOtherOpts); }
OptionWord Other(const char* name) { return Flag(name, OptionPlace::kOtherOpts); }

TEST(ParseDashOTest, SplitsAtCommas) {
  EXPECT_THAT(ParseDashO("a,b=c"), ElementsAre(Typed("a"), Typed("b", "c")));
  EXPECT_THAT(ParseDashO("a=b=c"), ElementsAre(Typed("a", "b=c")));
  EXPECT_THAT(ParseDashO(" a , b = c "), ElementsAre(Typed("a"), Typed("b", "c")));
  EXPECT_THAT(ParseDashO("a="), ElementsAre(Typed("a", "")));
  EXPECT_THAT(ParseDashO(""), IsEmpty());
}

TEST(ParseDashOTest, KeepsEmptyWordsForTheParserToWarnOf) {
  EXPECT_THAT(ParseDashO("a,,b,"), ElementsAre(Typed("a"), Typed(""), Typed("b"), Typed("")));
}

TEST(ParseDashOTest, BackslashCommaIsAComma) {
  EXPECT_THAT(ParseDashO("no_proxy=a\\,b,c"), ElementsAre(Typed("no_proxy", "a,b"), Typed("c")));
  EXPECT_THAT(ParseDashO("a=\\n\\"), ElementsAre(Typed("a", "\\n\\")));
}

TEST(ParseOtherOptsTest, ReadsBothFormsOfDashO) {
  ASSERT_OK_AND_ASSIGN(const auto words, ParseOtherOpts("-o a=b -o c,d\t-oe=f\n"));
  EXPECT_THAT(words, ElementsAre(Other("a", "b"), Other("c"), Other("d"), Other("e", "f")));
}

TEST(ParseOtherOptsTest, NothingIsNoWords) {
  for (const char* text : {"", "  \t\n"}) {
    ASSERT_OK_AND_ASSIGN(const auto words, ParseOtherOpts(text));
    EXPECT_THAT(words, IsEmpty());
  }
}

TEST(ParseOtherOptsTest, RefusesWhatHasNoDashO) {
  EXPECT_THAT(ParseOtherOpts("-omax_stat_cache_size=0 allow_other"),
              StatusIs(kInvalid, "invalid otherOpts: \"allow_other\" has no -o before it"));
  EXPECT_THAT(ParseOtherOpts("--umask=022"),
              StatusIs(kInvalid, "invalid otherOpts: \"--umask\" has no -o before it"));
}

TEST(ParseOtherOptsTest, RefusesALoneDashOAtTheEnd) {
  EXPECT_THAT(ParseOtherOpts("-o a -o"),
              StatusIs(kInvalid, "invalid otherOpts: \"-o\" at the end has no words behind it"));
}

TEST(ParseOtherOptsTest, NeverRepeatsAValue) {
  EXPECT_THAT(ParseOtherOpts("akSecret=hunter2"),
              StatusIs(kInvalid, "invalid otherOpts: \"akSecret\" has no -o before it"));
}

}  // namespace
}  // namespace bucketvol
