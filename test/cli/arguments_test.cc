#include "mounter/cli/arguments.h"

#include "mounter/cli/exit_code.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Arguments> Parse(const std::vector<std::string>& words) {
  const std::vector<absl::string_view> flags = {"--json"};
  return ParseArguments(words, flags);
}

TEST(ArgumentsTest, SortsWordsWhateverTheirOrder) {
  ASSERT_OK_AND_ASSIGN(const Arguments arguments,
                       Parse({"-o", "a=b", "s3://b", "--json", "/mnt", "-oc,d", "--out=dir"}));
  EXPECT_THAT(arguments.positional, ElementsAre("s3://b", "/mnt"));
  EXPECT_THAT(arguments.option_lists, ElementsAre("a=b", "c,d"));
  EXPECT_TRUE(arguments.Has("--json"));
  EXPECT_EQ(arguments.out, "dir");
}

TEST(ArgumentsTest, DoubleDashEndsFlags) {
  ASSERT_OK_AND_ASSIGN(const Arguments arguments, Parse({"--", "--json", "-o"}));
  EXPECT_THAT(arguments.positional, ElementsAre("--json", "-o"));
  EXPECT_FALSE(arguments.Has("--json"));
}

TEST(ArgumentsTest, RefusesUnknownFlagsAndMissingValues) {
  const absl::Status unknown = Parse({"--jsno"}).status();
  EXPECT_THAT(unknown.message(), HasSubstr("--jsno"));
  EXPECT_THAT(unknown.message(), HasSubstr("--json"));
  EXPECT_EQ(ExitCodeOf(unknown), kExitUsage);
  EXPECT_EQ(ExitCodeOf(Parse({"-o"}).status()), kExitUsage);
  EXPECT_EQ(ExitCodeOf(Parse({"--out"}).status()), kExitUsage);
}

TEST(ArgumentsTest, HelpIsAFlagOfEveryCommand) {
  for (const char* word : {"-h", "--help"}) {
    ASSERT_OK_AND_ASSIGN(const Arguments arguments, Parse({word}));
    EXPECT_TRUE(arguments.Has("--help"));
  }
}

TEST(MountHelperArgumentsTest, TakesTheWordsOfMount8) {
  const std::vector<std::string> words = {"s3://b",    "/mnt", "-sn", "-v", "-t",
                                          "bucketvol", "-N",   "3",   "-o", "rw,url=x"};
  ASSERT_OK_AND_ASSIGN(const MountHelperArguments parsed, ParseMountHelperArguments(words));
  EXPECT_THAT(parsed.arguments.positional, ElementsAre("s3://b", "/mnt"));
  EXPECT_THAT(parsed.arguments.option_lists, ElementsAre("rw,url=x"));
  EXPECT_FALSE(parsed.fake);
}

TEST(MountHelperArgumentsTest, FakeMountsNothing) {
  const std::vector<std::string> words = {"s3://b", "/mnt", "-fn"};
  ASSERT_OK_AND_ASSIGN(const MountHelperArguments parsed, ParseMountHelperArguments(words));
  EXPECT_TRUE(parsed.fake);
}

}  // namespace
}  // namespace bucketvol
