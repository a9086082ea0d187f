#include "mounter/base/coding.h"

#include <limits>

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

TEST(CodingTest, VarintsComeBack) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{127}, uint64_t{128}, uint64_t{300},
                               uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()}) {
    std::string bytes;
    AppendVarint(bytes, value);
    absl::string_view rest = bytes;
    EXPECT_EQ(ConsumeVarint(rest), value);
    EXPECT_TRUE(rest.empty());
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      absl::string_view part = absl::string_view(bytes).substr(0, cut);
      EXPECT_EQ(ConsumeVarint(part), std::nullopt);
    }
  }
}

TEST(CodingTest, RefusesVarintsBeyond64Bits) {
  for (const std::string& bytes : {std::string(9, '\xff') + '\x02', std::string(11, '\x80') + '\x01'}) {
    absl::string_view rest = bytes;
    EXPECT_EQ(ConsumeVarint(rest), std::nullopt);
  }
}

TEST(CodingTest, StoresLittleEndian) {
  std::string bytes;
  AppendLittle<uint32_t>(bytes, 0x01020304u);
  AppendLittle<uint16_t>(bytes, 0xfffeu);
  EXPECT_EQ(bytes, std::string("\x04\x03\x02\x01\xfe\xff", 6));
  EXPECT_EQ(LoadLittle<uint32_t>(bytes.data()), 0x01020304u);
  EXPECT_EQ(LoadLittle<uint16_t>(bytes.data() + 4), 0xfffeu);
}

}  // namespace
}  // namespace bucketvol
