#include "mounter/prefetch/safetensors_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "mounter/base/coding.h"
#include "test/support/file_formats.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

constexpr uint64_t kMiB = 1 << 20;

std::string Header(const std::string& json) { return testing::SafetensorsHead(json); }

std::string Tensor(uint64_t begin, uint64_t end) {
  return R"({"dtype":"F16","shape":[2,3],"data_offsets":[)" + std::to_string(begin) + "," +
         std::to_string(end) + "]}";
}

TEST(SafetensorsHeader, RangeIsToldByTheFirstEightBytes) {
  EXPECT_THAT(SafetensorsHeader::Range(Header("{}"), 100), Optional(ByteRange{0, 10}));
  EXPECT_EQ(SafetensorsHeader::Range(Header("{}").substr(0, 7), 100), std::nullopt);
  EXPECT_EQ(SafetensorsHeader::Range(Header("{}"), 9), std::nullopt);
  std::string huge;
  AppendLittle<uint64_t>(huge, SafetensorsHeader::kMaxHeaderBytes + 1);
  EXPECT_EQ(SafetensorsHeader::Range(huge, UINT64_MAX), std::nullopt);
  std::string overflow;
  AppendLittle<uint64_t>(overflow, UINT64_MAX);
  EXPECT_EQ(SafetensorsHeader::Range(overflow, UINT64_MAX), std::nullopt);
}

TEST(SafetensorsHeader, TensorsBeginAndEndAtBoundaries) {
  const std::string header = Header(R"({"__metadata__":{"format":"pt","data_offsets":"none"},"b":)" +
                                    Tensor(5 * kMiB, 9 * kMiB) + R"(,"a":)" + Tensor(0, 5 * kMiB) + "}");
  EXPECT_THAT(SafetensorsHeader::Boundaries(header, header.size() + 9 * kMiB),
              Optional(ElementsAre(header.size(), header.size() + 5 * kMiB, header.size() + 9 * kMiB)));
}

TEST(SafetensorsHeader, SmallTensorsArePutTogether) {
  std::string json = "{";
  for (uint64_t i = 0; i < 64; ++i)
    json += "\"" + std::to_string(i) + "\":" + Tensor(i * 65536, (i + 1) * 65536) + ",";
  json.back() = '}';
  const std::string header = Header(json);
  const auto boundaries = SafetensorsHeader::Boundaries(header, header.size() + 4 * kMiB);
  ASSERT_TRUE(boundaries.has_value());
  EXPECT_EQ(boundaries->size(), 5);
  EXPECT_EQ(boundaries->back(), header.size() + 4 * kMiB);
}

TEST(SafetensorsHeader, MalformedIsNoHint) {
  for (const std::string json :
       {"[]", "{", "{}", R"({"a":{"data_offsets":["x",1]}})", R"({"a":{"data_offsets":[-1,1]}})",
        R"({"a":{"data_offsets":[0,1.5]}})", R"({"a":{"data_offsets":[0,18446744073709551616]}})",
        R"({"a":{"data_offsets":[0,1000000]}})"})
    EXPECT_EQ(SafetensorsHeader::Boundaries(Header(json), 1000), std::nullopt) << json;
  std::string deep = R"({"a":)";
  for (int i = 0; i < 1000; ++i) deep += "[";
  EXPECT_EQ(SafetensorsHeader::Boundaries(Header(deep), 10'000), std::nullopt);
}

TEST(SafetensorsHeader, CutOffIsNoHint) {
  const std::string header = Header(R"({"a":)" + Tensor(0, 100) + "}");
  ASSERT_TRUE(SafetensorsHeader::Boundaries(header, 1000).has_value());
  for (size_t length = 0; length < header.size(); ++length)
    EXPECT_EQ(SafetensorsHeader::Boundaries(header.substr(0, length), 1000), std::nullopt);
}

}  // namespace
}  // namespace bucketvol
