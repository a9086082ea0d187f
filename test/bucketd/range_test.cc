#include "test/bucketd/range.h"

#include <string>

#include "gtest/gtest.h"

namespace bucketvol::bucketd {
namespace {

constexpr uint64_t kSize = 1000;

// "whole", "416", "several" or "begin-end" (exclusive).
std::string Resolve(const char* header, RangeRule rule, uint64_t size = kSize) {
  const RangeAnswer answer = ResolveRange(header, size, rule);
  switch (answer.kind) {
    case RangeAnswer::Kind::kWhole:
      return answer.range == ByteRange{0, size} ? "whole" : "wrong whole";
    case RangeAnswer::Kind::kPart:
      return std::to_string(answer.range.begin) + "-" + std::to_string(answer.range.end);
    case RangeAnswer::Kind::kUnsatisfiable:
      return "416";
    case RangeAnswer::Kind::kSeveral:
      return "several";
  }
  return "";
}

struct Row {
  const char* header;
  const char* oss_plain;
  const char* oss_standard;
  const char* s3;
};

class RangeTableTest : public ::testing::TestWithParam<Row> {};

TEST_P(RangeTableTest, AnswersAsTheServices) {
  const Row& row = GetParam();
  EXPECT_EQ(Resolve(row.header, RangeRule::kOssPlain), row.oss_plain) << row.header;
  EXPECT_EQ(Resolve(row.header, RangeRule::kOssStandard), row.oss_standard) << row.header;
  EXPECT_EQ(Resolve(row.header, RangeRule::kS3), row.s3) << row.header;
}

INSTANTIATE_TEST_SUITE_P(
    OfAThousandBytes, RangeTableTest,
    ::testing::Values(
        Row{"", "whole", "whole", "whole"}, Row{"bytes=0-499", "0-500", "0-500", "0-500"},
        Row{"bytes=0-999", "0-1000", "0-1000", "0-1000"},
        Row{"bytes=999-999", "999-1000", "999-1000", "999-1000"},
        Row{"bytes=500-", "500-1000", "500-1000", "500-1000"},
        Row{"bytes=500-2000", "whole", "500-1000", "500-1000"}, Row{"bytes=1000-2000", "whole", "416", "416"},
        Row{"bytes=1000-", "whole", "416", "416"}, Row{"bytes=-10", "990-1000", "990-1000", "990-1000"},
        Row{"bytes=-1000", "0-1000", "0-1000", "0-1000"}, Row{"bytes=-2000", "whole", "whole", "0-1000"},
        Row{"bytes=-0", "whole", "416", "416"}, Row{"bytes=5-4", "whole", "whole", "whole"},
        Row{"bytes=a-b", "whole", "whole", "whole"}, Row{"bytes=-", "whole", "whole", "whole"},
        Row{"bytes=5", "whole", "whole", "whole"}, Row{"bytes=+1-2", "whole", "whole", "whole"},
        Row{"lines=0-1", "whole", "whole", "whole"}, Row{"bytes=0-1,5-6", "several", "several", "several"},
        Row{"bytes=99999999999999999999-", "whole", "whole", "whole"}));

TEST(RangeTest, EmptyObjectHasNoRange) {
  EXPECT_EQ(Resolve("bytes=0-", RangeRule::kS3, 0), "416");
  EXPECT_EQ(Resolve("bytes=0-", RangeRule::kOssPlain, 0), "whole");
  EXPECT_EQ(Resolve("bytes=-5", RangeRule::kOssStandard, 0), "416");
}

}  // namespace
}  // namespace bucketvol::bucketd
