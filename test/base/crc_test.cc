#include "mounter/base/crc.h"

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

// RFC 3720 B.4 and the usual check value.
TEST(Crc32cTest, MatchesPublishedVectors) {
  EXPECT_EQ(Crc32c(0, ""), 0u);
  EXPECT_EQ(Crc32c(0, "123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(0, std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(0, std::string(32, '\xff')), 0x62A8AB43u);
}

TEST(Crc64Test, MatchesPublishedVectors) {
  EXPECT_EQ(Crc64(0, ""), 0u);
  EXPECT_EQ(Crc64(0, "123456789"), 11051210869376104954u);
  EXPECT_EQ(Crc64(0, "This is a test of the emergency broadcast system."), 0x27db187fc15bbc72u);
}

TEST(CrcTest, Chains) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(Crc32c(Crc32c(0, text.substr(0, cut)), text.substr(cut)), Crc32c(0, text));
    EXPECT_EQ(Crc64(Crc64(0, text.substr(0, cut)), text.substr(cut)), Crc64(0, text));
  }
}

// Long runs are computed in lanes; one byte at a time never is.
template <typename Word>
void ExpectLongRunsEqualTheSameBytesOneByOne(Word (*extend)(Word, absl::string_view)) {
  std::string text(70'000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 3 ^ i);
  Word crc = 0;
  for (size_t length = 1; length <= text.size(); ++length) {
    crc = extend(crc, absl::string_view(text).substr(length - 1, 1));
    if (length % 251 != 0 && length % 256 > 1) continue;
    ASSERT_EQ(extend(0, {text.data(), length}), crc) << length;
    ASSERT_EQ(extend(extend(0, {text.data(), length / 3}), {text.data() + length / 3, length - length / 3}),
              crc);
  }
}

TEST(Crc32cTest, LongRunsEqualTheSameBytesOneByOne) { ExpectLongRunsEqualTheSameBytesOneByOne(&Crc32c); }
TEST(Crc64Test, LongRunsEqualTheSameBytesOneByOne) { ExpectLongRunsEqualTheSameBytesOneByOne(&Crc64); }

}  // namespace
}  // namespace bucketvol
