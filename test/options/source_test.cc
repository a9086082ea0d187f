#include "mounter/options/source.h"

#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;
using ::testing::StartsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ParseSourceTest, ReadsProviderBucketAndPrefix) {
  struct Case {
    const char* text;
    Source source;
    const char* shown;
  };
  const Case cases[] = {
      {"oss://b", {Provider::kOss, "b", ""}, "oss://b"},
      {"oss://b/", {Provider::kOss, "b", ""}, "oss://b"},
      {"s3://My_Bucket.x/p", {Provider::kS3, "My_Bucket.x", "p/"}, "s3://My_Bucket.x/p"},
      {"OSS://b//p//q/", {Provider::kOss, "b", "p/q/"}, "oss://b/p/q"},
      {"oss://b/ä ?#%2F*", {Provider::kOss, "b", "ä ?#%2F*/"}, "oss://b/ä ?#%2F*"},
  };
  for (const Case& c : cases) {
    ASSERT_OK_AND_ASSIGN(const Source source, ParseSource(c.text));
    EXPECT_EQ(source, c.source) << c.text;
    EXPECT_EQ(source.ToString(), c.shown);
  }
}

TEST(ParseSourceTest, RefusesOtherForms) {
  EXPECT_THAT(ParseSource("b/p"),
              StatusIs(kInvalid, "a source is oss://BUCKET[/PATH] or s3://BUCKET[/PATH]: \"b/p\""));
  for (const char* text : {"", "oss:/b", "gs://b", "http://b", "oss"}) {
    EXPECT_THAT(ParseSource(text), StatusIs(kInvalid, StartsWith("a source is oss://BUCKET[/PATH]"))) << text;
  }
  for (const char* text :
       {"oss://", "oss:///p", "oss://a b", "oss://-b", "oss://b.", "oss://b%", "s3://..", "s3://./x"}) {
    EXPECT_THAT(ParseSource(text), StatusIs(kInvalid, StartsWith("source has no valid bucket name"))) << text;
  }
  for (const char* text : {"oss://b/../c", "oss://b/a/./c", "oss://b/..", "oss://b/a\nb", "oss://b/\x7f"}) {
    EXPECT_THAT(ParseSource(text), StatusIs(kInvalid, StartsWith("source path must be a directory"))) << text;
  }
}

TEST(ParseSourceTest, NeverRepeatsCredentialsInTheSource) {
  EXPECT_THAT(
      ParseSource("s3://id:hunter2@bucket/p"),
      StatusIs(kInvalid, AllOf(HasSubstr("credentials are given by options"), Not(HasSubstr("hunter2")))));
}

TEST(ParsePrefixTest, HasTheLimitOfAKey) {
  EXPECT_THAT(ParsePrefix(std::string(1022, 'a')), Optional(std::string(1022, 'a') + "/"));
  EXPECT_EQ(ParsePrefix(std::string(1023, 'a')), std::nullopt);
}

TEST(IsBucketNameTest, HasALimit) {
  EXPECT_TRUE(IsBucketName(std::string(63, 'a')));
  EXPECT_FALSE(IsBucketName(std::string(64, 'a')));
}

}  // namespace
}  // namespace bucketvol
