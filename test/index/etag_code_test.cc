#include "mounter/index/etag_code.h"

#include <random>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

namespace bucketvol::testing {
namespace {

void ExpectRoundTrip(const std::string& etag) {
  std::string stored = "before";
  const EtagKind kind = AppendEtag(stored, etag);
  absl::string_view in = stored;
  in.remove_prefix(6);
  absl::string_view skipped = in;
  EXPECT_EQ(ConsumeEtag(kind, in), etag);
  EXPECT_TRUE(in.empty());
  EXPECT_TRUE(SkipEtag(kind, skipped));
  EXPECT_TRUE(skipped.empty());
  for (size_t length = 0; kind != EtagKind::kNone && length + 6 < stored.size(); ++length) {
    absl::string_view cut(stored.data() + 6, length);
    EXPECT_EQ(ConsumeEtag(kind, cut), std::nullopt) << "cut to " << length;
  }
}

const std::string kLower = "0123456789abcdef0123456789abcdef";
const std::string kUpper = "0123456789ABCDEF0123456789ABCDEF";

TEST(EtagCodeTest, DigestsTakeSixteenBytes) {
  const std::vector<std::tuple<std::string, EtagKind, size_t>> cases = {
      {"", EtagKind::kNone, 0},
      {kLower, EtagKind::kLower, 16},
      {kUpper, EtagKind::kUpper, 16},
      {std::string(32, '7'), EtagKind::kLower, 16},
      {kLower + "-1", EtagKind::kLowerParts, 17},
      {kUpper + "-10000", EtagKind::kUpperParts, 18},
  };
  for (const auto& [etag, kind, bytes] : cases) {
    std::string stored;
    EXPECT_EQ(AppendEtag(stored, etag), kind) << etag;
    EXPECT_EQ(stored.size(), bytes) << etag;
    ExpectRoundTrip(etag);
  }
}

TEST(EtagCodeTest, EverythingElseIsKeptByteForByte) {
  for (const std::string& etag :
       {"0123456789abcdef0123456789ABCDEF" + std::string(), kLower + "-", kLower + "-0001", kLower + "-+1",
        kLower + "- 1", kLower + "-99999999999", kLower + "--1", kLower + "x", kLower.substr(1),
        std::string("x"), std::string("W/\"x\""), std::string("\0\xff", 2), std::string(300, 'q'),
        std::string(32, 'g'), std::string(31, 'a') + "`", std::string(31, 'a') + ":",
        std::string(31, 'A') + "@", std::string(31, '0') + "/"}) {
    std::string stored;
    EXPECT_EQ(AppendEtag(stored, etag), EtagKind::kOpaque) << etag;
    ExpectRoundTrip(etag);
  }
}

TEST(EtagCodeTest, AnyByteInAnyPlaceComesBack) {
  std::mt19937_64 random(1);
  for (const std::string& base : {kLower, kUpper, kLower + "-12"}) {
    for (size_t at = 0; at < base.size(); ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string etag = base;
        etag[at] = static_cast<char>(byte);
        ExpectRoundTrip(etag);
      }
    }
  }
}

}  // namespace
}  // namespace bucketvol::testing
