#include "mounter/objstore/uri_encoding.h"

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

std::optional<std::string> Decoded(std::string text) {
  const std::optional<size_t> size = DecodeFormInPlace(text.data(), text.size());
  if (!size) return std::nullopt;
  text.resize(*size);
  return text;
}

TEST(UriEncodingTest, KeepsUnreservedBytesOnly) {
  EXPECT_EQ(EncodePath("AZaz09-._~/"), "AZaz09-._~/");
  EXPECT_EQ(EncodePath("a b+c%\xC3\xA9\x01"), "a%20b%2Bc%25%C3%A9%01");
  EXPECT_EQ(EncodePath(absl::string_view("\0", 1)), "%00");
  EXPECT_EQ(EncodeQueryPart("a/b="), "a%2Fb%3D");
}

TEST(UriEncodingTest, QueriesAreSortedByEncodedName) {
  const QueryParameters query = {{"b", "2"}, {"a|", ""}, {"a", "x y"}, {"+", "1"}};
  EXPECT_EQ(EncodeQuery(query, EmptyValue::kBare), "%2B=1&a=x%20y&a%7C&b=2");
  EXPECT_EQ(EncodeQuery(query, EmptyValue::kWithEquals), "%2B=1&a=x%20y&a%7C=&b=2");
  EXPECT_EQ(EncodeQuery({}, EmptyValue::kBare), "");
}

TEST(UriEncodingTest, DecodesFormEncoding) {
  EXPECT_EQ(Decoded("plain/key"), "plain/key");
  EXPECT_EQ(Decoded("a+b%2Bc%20%c3%A9"), "a b+c \xC3\xA9");
  EXPECT_EQ(Decoded("%00"), std::string(1, '\0'));
  EXPECT_EQ(Decoded(""), "");
}

TEST(UriEncodingTest, RefusesBrokenEncoding) {
  EXPECT_EQ(Decoded("a%"), std::nullopt);
  EXPECT_EQ(Decoded("a%2"), std::nullopt);
  EXPECT_EQ(Decoded("a%zz"), std::nullopt);
}

TEST(UriEncodingTest, EveryByteSurvives) {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  EXPECT_EQ(Decoded(EncodePath(all)), all);
  EXPECT_EQ(Decoded(EncodeQueryPart(all)), all);
}

}  // namespace
}  // namespace bucketvol
