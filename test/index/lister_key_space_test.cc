#include "mounter/index/lister_key_space.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bucketvol::testing {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Lt;
using ::testing::Optional;

PageSpan Page(const std::string& after, const std::vector<std::string>& keys) {
  std::vector<ListedObject> objects;
  for (const std::string& key : keys) objects.push_back({.key = key, .etag = ""});
  return PageSpan(after, objects);
}

std::vector<std::string> Counters(absl::string_view stem, int begin, int end) {
  std::vector<std::string> keys;
  for (int i = begin; i < end; ++i) keys.push_back(absl::StrCat(stem, absl::Dec(i, absl::kZeroPad6)));
  return keys;
}

TEST(SymbolsTest, AnyBytesComeBack) {
  for (const std::string& key :
       {std::string("plain/key"), std::string("é中\xf0\x9f\x98\x80"), std::string("\xff\xc3(\xe4\xb8"),
        std::string("a\0b", 3), std::string("\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80")}) {
    EXPECT_EQ(ToBytes(ToSymbols(key)), key);
  }
}

TEST(SymbolsTest, CharactersAreOneSymbol) { EXPECT_EQ(ToSymbols("a中é").size(), 3u); }

TEST(SymbolSetTest, KeepsOrder) {
  SymbolSet set('b', 'd');
  set.Add('z');
  set.Add('a');
  set.Add('c');
  EXPECT_EQ(set.size(), 5u);
  EXPECT_EQ(set.Rank('c'), 2u);
  EXPECT_EQ(set.Rank('m'), 4u);
  EXPECT_EQ(set[4], U'z');
  EXPECT_TRUE(set.ContainsAll(SymbolSet('b', 'c')));
  EXPECT_FALSE(set.ContainsAll(SymbolSet('b', 'e')));
}

TEST(KeyRulerTest, CountersAreMeasuredExactly) {
  const KeyAlphabet alphabet;
  const PageSpan page = Page("", Counters("n/", 0, 1000));
  const KeyRuler ruler = KeyRuler::OfPage(alphabet, Trust::kYes, page, 0, ToSymbols("n/050999"));
  EXPECT_NEAR(ruler.pages(), 50, 0.1);
  EXPECT_THAT(ruler.PointAt(25), Optional(AllOf(Gt("n/025"), Lt("n/0261"))));
  EXPECT_EQ(ruler.PointAt(60), std::nullopt);
}

TEST(KeyRulerTest, LeadingZerosWillBecomeOtherDigits) {
  const KeyAlphabet alphabet;
  const PageSpan page = Page("", Counters("n", 0, 1000));
  const KeyRuler ruler = KeyRuler::OfPage(alphabet, Trust::kYes, page, 0, std::nullopt);
  EXPECT_NEAR(ruler.pages(), 999, 1);
}

TEST(KeyRulerTest, HashesUseAllHexDigits) {
  const KeyAlphabet alphabet;
  std::vector<std::string> keys;
  for (unsigned i = 0; i < 1000; ++i) keys.push_back(absl::StrCat(absl::Hex(i * 16'777, absl::kZeroPad8)));
  const PageSpan page = Page("", keys);
  const KeyRuler ruler = KeyRuler::OfPage(alphabet, Trust::kYes, page, 0, std::nullopt);
  EXPECT_NEAR(ruler.pages(), 4294967296.0 / (16'777 * 1000) - 1, 2);
}

TEST(KeyRulerTest, LongCommonBeginningCostsNoPrecision) {
  const KeyAlphabet alphabet;
  const std::string stem(900, 'x');
  const PageSpan page = Page("", Counters(stem, 0, 1000));
  const KeyRuler ruler = KeyRuler::OfPage(alphabet, Trust::kYes, page, 0, ToSymbols(stem + "009999"));
  EXPECT_NEAR(ruler.pages(), 9, 0.1);
}

TEST(KeyRulerTest, KnowsTheRestBehindWhatItMeasures) {
  const KeyAlphabet alphabet;
  const PageSpan page = Page("", Counters(std::string(20, '0'), 0, 1000));
  const KeyRuler ruler = KeyRuler::OfPage(alphabet, Trust::kYes, page, 0, std::nullopt);
  const std::optional<std::string> beyond = ruler.PointBeyond();
  ASSERT_TRUE(beyond.has_value());
  EXPECT_GT(*beyond, std::string(20, '0') + "999999");
  EXPECT_LT(*beyond, "01");
}

TEST(KeyRulerTest, CharactersOfSeveralBytesAreNotTornApart) {
  const KeyAlphabet alphabet;
  std::vector<std::string> keys;
  for (const char* a : {"一", "中", "文"}) {
    for (const char* b : {"一", "中", "文"}) keys.push_back(absl::StrCat("名一", a, b));
  }
  const PageSpan page = Page("", keys);
  const KeyRuler ruler = KeyRuler::OfPage(alphabet, Trust::kYes, page, 0, ToSymbols("名文文文"));
  EXPECT_NEAR(ruler.pages(), 2, 0.1);
  EXPECT_THAT(ruler.PointAt(1), Optional(AllOf(Gt("名中"), Lt("名文一文"))));
}

TEST(KeyRulerTest, CompleteDirectoriesLimitTheGuess) {
  KeyAlphabet alphabet;
  for (int month = 1; month <= 12; ++month)
    alphabet.Learn(absl::StrCat("2023/", absl::Dec(month, absl::kZeroPad2), "/x"));
  alphabet.LearnEnd("2022/12/", "2023/01/");
  alphabet.LearnEnd("2023/12/", "2024/01/");
  const Symbols begin = ToSymbols("2024/01");
  const auto year = [&](Trust trust) {
    return KeyRuler::OfDirectory(alphabet, trust, begin, 1, KeyRuler::Below::kUnknown, 0,
                                 ToSymbols("2024/99"))
        .pages();
  };
  EXPECT_NEAR(year(Trust::kYes), 19, 1);  // Tens 0 and 1.
  EXPECT_GT(year(Trust::kNo), 90);
}

TEST(SplitPointTest, MustLieBetween) {
  EXPECT_THAT(MakeSplitPoint("b", "a", std::string("c")), Optional(std::string("b")));
  EXPECT_EQ(MakeSplitPoint("a", "a", std::nullopt), std::nullopt);
  EXPECT_EQ(MakeSplitPoint("c", "a", std::string("c")), std::nullopt);
}

TEST(SplitPointTest, IsMadeFitForStartAfter) {
  EXPECT_THAT(MakeSplitPoint("b\xff\xff", "a", std::nullopt), Optional(std::string("b")));
  EXPECT_THAT(MakeSplitPoint("b\xe4\xb8", "a", std::nullopt), Optional(std::string("b")));
  EXPECT_THAT(MakeSplitPoint(std::string("b\0c", 3), "a", std::nullopt), Optional(std::string("b")));
  EXPECT_EQ(MakeSplitPoint("\xff", "a", std::nullopt), std::nullopt);
  EXPECT_EQ(MakeSplitPoint(std::string(1024, 'b'), "a", std::nullopt), std::nullopt);
  EXPECT_TRUE(MakeSplitPoint(std::string(1023, 'b'), "a", std::nullopt).has_value());
}

}  // namespace
}  // namespace bucketvol::testing
