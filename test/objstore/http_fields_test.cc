#include "mounter/objstore/http_fields.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "mounter/objstore/signing_text.h"

namespace bucketvol {
namespace {

ContentRange Range(uint64_t begin, uint64_t end, std::optional<uint64_t> total) {
  return {{begin, end}, total};
}

TEST(HttpFieldsTest, ReadsContentRange) {
  EXPECT_EQ(ParseContentRange("bytes 0-9/44"), Range(0, 10, 44));
  EXPECT_EQ(ParseContentRange(" bytes 0~9/44 "), Range(0, 10, 44));
  EXPECT_EQ(ParseContentRange("bytes 5-5/6"), Range(5, 6, 6));
  EXPECT_EQ(ParseContentRange("bytes 5-5/*"), Range(5, 6, std::nullopt));
  EXPECT_EQ(ParseContentRange("bytes 0-48799999999999/48800000000000"),
            Range(0, 48800000000000, 48800000000000));
}

TEST(HttpFieldsTest, RefusesOtherContentRanges) {
  for (const char* bad : {"", "bytes", "bytes 0-9", "bytes 0-9/", "bytes 9-0/44", "bytes 0-44/44",
                          "bytes */44", "bytes -9/44", "bytes 0-9/44x", "bytes 0-9/44, 12-13/44",
                          "octets 0-9/44", "bytes +0-9/44", "bytes 0-9223372036854775808/9223372036854775809",
                          "bytes 0-18446744073709551615/*", "bytes 0-99999999999999999999/*"}) {
    EXPECT_EQ(ParseContentRange(bad), std::nullopt) << bad;
  }
}

TEST(HttpFieldsTest, ReadsHttpDates) {
  EXPECT_EQ(ParseHttpDate("Wed, 28 Dec 2022 10:27:41 GMT"), absl::FromUnixSeconds(1672223261));
  EXPECT_EQ(ParseHttpDate("Wed, 28 Dec 2022 10:27:41"), std::nullopt);
  EXPECT_EQ(ParseHttpDate("infinite-future"), std::nullopt);
  EXPECT_EQ(ParseHttpDate(""), std::nullopt);
}

TEST(HttpFieldsTest, HttpDatesSurviveWritingAndReading) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1'000; ++i) {
    const absl::Time time = absl::FromUnixSeconds(static_cast<int64_t>(random() % 4'000'000'000));
    EXPECT_EQ(ParseHttpDate(HttpDate(time)), time);
  }
}

TEST(HttpFieldsTest, ReadsIsoTimes) {
  EXPECT_EQ(ParseIsoMillis("2012-02-24T08:43:07.000Z"), 1330072987000);
  EXPECT_EQ(ParseIsoMillis("2012-02-24T08:43:07Z"), 1330072987000);
  EXPECT_EQ(ParseIsoMillis("2012-02-24T08:43:07.1Z"), 1330072987100);
  EXPECT_EQ(ParseIsoMillis("2012-02-24T08:43:07.123456789Z"), 1330072987123);
  EXPECT_EQ(ParseIsoMillis("1969-12-31T23:59:59.500Z"), -500);
  EXPECT_EQ(ParseIsoMillis("2012-02-24T16:43:07.000+08:00"), 1330072987000);
  EXPECT_EQ(ParseIsoMillis("2024-02-29T00:00:00Z"), 1709164800000);
}

TEST(HttpFieldsTest, RefusesOtherIsoTimes) {
  for (const char* bad :
       {"", "2012-02-24", "2012-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2012-13-01T00:00:00Z",
        "2012-02-24T24:00:00Z", "2012-02-24T08:43:07.Z", "2012-02-24T08:43:07.000", "infinite-past"}) {
    EXPECT_EQ(ParseIsoMillis(bad), std::nullopt) << bad;
  }
}

// The fast reader of dates against absl's.
TEST(HttpFieldsTest, IsoTimesAgreeWithAbsl) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    const absl::Time time =
        absl::FromUnixMillis(static_cast<int64_t>(random() % 8'000'000'000'000) - 2'000'000'000'000);
    const std::string text = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
    EXPECT_EQ(ParseIsoMillis(text), absl::ToUnixMillis(time)) << text;
  }
}

TEST(HttpFieldsTest, Etags) {
  EXPECT_EQ(UnquoteEtag("\"Ab\""), "Ab");
  EXPECT_EQ(UnquoteEtag("W/\"Ab\""), "Ab");
  EXPECT_EQ(UnquoteEtag("Ab"), "Ab");
  EXPECT_EQ(UnquoteEtag("\""), "\"");
  EXPECT_EQ(UnquoteEtag(""), "");
  EXPECT_TRUE(SameEtag("aB-2", "Ab-2"));
  EXPECT_FALSE(SameEtag("a", "b"));
}

}  // namespace
}  // namespace bucketvol
