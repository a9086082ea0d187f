#include "mounter/options/option_value.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bucketvol {
namespace {

using ::testing::Eq;
using ::testing::Optional;

TEST(OptionValueTest, IntegersAreWholeAndInRange) {
  EXPECT_THAT(ParseInteger("0", 0, 5), Optional(0u));
  EXPECT_THAT(ParseInteger("5", 0, 5), Optional(5u));
  EXPECT_THAT(ParseInteger("18446744073709551615", 0, std::numeric_limits<uint64_t>::max()),
              Optional(std::numeric_limits<uint64_t>::max()));
  for (const char* bad : {"", "6", "10k", "-1", "+1", " 1", "1 ", "0x1", "1.0", "18446744073709551616"}) {
    EXPECT_EQ(ParseInteger(bad, 0, 5), std::nullopt) << bad;
  }
}

TEST(OptionValueTest, Booleans) {
  for (const char* yes : {"true", "TRUE", "1", "yes", "Yes"})
    EXPECT_THAT(ParseBool(yes), Optional(true)) << yes;
  for (const char* no : {"false", "False", "0", "no"}) EXPECT_THAT(ParseBool(no), Optional(false)) << no;
  for (const char* bad : {"", "on", "2", "truee", "t"}) EXPECT_EQ(ParseBool(bad), std::nullopt) << bad;
}

TEST(OptionValueTest, PermissionsAreUpToFourOctalDigits) {
  EXPECT_THAT(ParsePermissions("022"), Optional(022u));
  EXPECT_THAT(ParsePermissions("22"), Optional(022u));
  EXPECT_THAT(ParsePermissions("0"), Optional(0u));
  EXPECT_THAT(ParsePermissions("0777"), Optional(0777u));
  for (const char* bad : {"", "888", "0o22", "1000", "00022", "-22", "0x1"}) {
    EXPECT_EQ(ParsePermissions(bad), std::nullopt) << bad;
  }
}

TEST(OptionValueTest, Decimals) {
  EXPECT_THAT(ParseDecimal("2.5", 10), Optional(2.5));
  EXPECT_THAT(ParseDecimal("10", 10), Optional(10.0));
  for (const char* bad : {"", ".", "1.", ".5", "10.1", "1e1", "inf", "nan", "-1", "1.2345", "1.2.3"}) {
    EXPECT_EQ(ParseDecimal(bad, 10), std::nullopt) << bad;
  }
}

TEST(OptionValueTest, SizesKnowPowersOfTenAndOfTwo) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"0", 0},
      {"17", 17},
      {"17B", 17},
      {"2KB", 2'000},
      {"2KiB", 2'048},
      {"3MB", 3'000'000},
      {"3MiB", 3'145'728},
      {"1GB", 1'000'000'000},
      {"1GiB", 1'073'741'824},
      {"1TiB", 1ULL << 40},
      {"1TB", 1'000'000'000'000},
  };
  for (const auto& [text, bytes] : cases) EXPECT_THAT(ParseSize(text), Optional(bytes)) << text;
  for (const char* bad : {"", "KB", "1.5MB", "-1", "1 MB", "1XB", "1K", "20000000TiB", "1KBKB"}) {
    EXPECT_EQ(ParseSize(bad), std::nullopt) << bad;
  }
}

TEST(OptionValueTest, Times) {
  const std::pair<const char*, absl::Duration> cases[] = {
      {"500ms", absl::Milliseconds(500)}, {"1.5s", absl::Milliseconds(1500)}, {"2m", absl::Minutes(2)},
      {"1h30m", absl::Minutes(90)},       {"7d", absl::Hours(168)},           {"90", absl::Seconds(90)},
      {"0", absl::ZeroDuration()},        {"0.25", absl::Milliseconds(250)},
  };
  for (const auto& [text, time] : cases) EXPECT_THAT(ParseTime(text), Optional(Eq(time))) << text;
  for (const char* bad : {"", "s", "inf", "-1s", "+1s", "1 s", "1us", "1ns", "1w", "d", "1d12h", "1.d",
                          "99999999999999999999s"}) {
    EXPECT_EQ(ParseTime(bad), std::nullopt) << bad;
  }
}

TEST(OptionValueTest, ResourceLimits) {
  EXPECT_THAT(ParseResourceLimit("2c4g"), Optional(ResourceLimit{2000, 4ULL << 30}));
  EXPECT_THAT(ParseResourceLimit("16C32G"), Optional(ResourceLimit{16'000, 32ULL << 30}));
  EXPECT_THAT(ParseResourceLimit("1024c65536g"), Optional(ResourceLimit{1'024'000, 65536ULL << 30}));
  EXPECT_THAT(ParseResourceLimit("0.5c0.25g"), Optional(ResourceLimit{500, 256ULL << 20}));
  EXPECT_THAT(ParseResourceLimit("2.125c1.5g"), Optional(ResourceLimit{2125, 1536ULL << 20}));
  for (const char* bad : {"0.09c1g", "1c0.124g", "1.c1g", ".5c1g", "1.0001c1g", "1024.1c1g", "1e1c1g"}) {
    EXPECT_EQ(ParseResourceLimit(bad), std::nullopt) << bad;
  }
  for (const char* bad : {"", "4g", "2c", "c4g", "2cg", "cg", "gc", "0c4g", "2c0g", "2c4gb", "2c4m", "4g2c",
                          "1025c4g", "2c65537g", "2c4g2c4g", "2c 4g", "-2c4g"}) {
    EXPECT_EQ(ParseResourceLimit(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace bucketvol
