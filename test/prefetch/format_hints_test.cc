#include "mounter/prefetch/format_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "test/support/file_formats.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::SafetensorsEntry;
using testing::SafetensorsHead;
using testing::ZipEnd;

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kSize = 100 * kMiB;

TEST(FormatHints, NamesTellTheFormat) {
  for (const char* key : {"a/model-00001-of-00002.safetensors", "a/M.SafeTensors", "a.pt",
                          "pytorch_model.bin", "x.npz", "x.zip", "x.parquet"}) {
    EXPECT_NE(FormatHints::For(key, kSize), nullptr) << key;
  }
  for (const char* key : {"", "pt", "a.jpg", "safetensors", "a.pt.jpg", "a.gguf"})
    EXPECT_EQ(FormatHints::For(key, kSize), nullptr) << key;
}

TEST(FormatHints, TheHeaderOfASafetensorsFileIsFetchedWhole) {
  std::string json =
      "{" + SafetensorsEntry("a", 0, 5 * kMiB) + "," + SafetensorsEntry("b", 5 * kMiB, 9 * kMiB);
  json += std::string(2 * kMiB, ' ') + "}";
  const std::string head = SafetensorsHead(json);
  const auto hints = FormatHints::For("a.safetensors", kSize);
  EXPECT_THAT(hints->wanted(), ElementsAre(ByteRange{0, 9}));
  const ByteRange whole{0, head.size()};
  EXPECT_THAT(hints->Take({0, 9}, head.substr(0, 9)).ahead, ElementsAre(whole));
  EXPECT_THAT(hints->wanted(), ElementsAre(whole));
  EXPECT_THAT(hints->Take(whole, head).boundaries,
              ElementsAre(head.size(), head.size() + 5 * kMiB, head.size() + 9 * kMiB));
  EXPECT_THAT(hints->wanted(), IsEmpty());
}

TEST(FormatHints, AnArchiveThatIsBegunAtItsHead) {
  const auto hints = FormatHints::For("a.pt", kSize);
  const ByteRange last{kSize - 98, kSize};
  EXPECT_THAT(hints->wanted(), ElementsAre(ByteRange{0, 4}, last));
  EXPECT_THAT(hints->Take({0, 4}, "PK\3\4").ahead, ElementsAre(ByteRange{kSize - kMiB, kSize}));
  EXPECT_THAT(hints->wanted(), ElementsAre(last));
}

TEST(FormatHints, AnArchiveThatIsBegunAtItsEnd) {
  std::string end;
  const uint64_t offset = kSize - ZipEnd(0, {0, 20 * kMiB}).size();
  end = ZipEnd(offset, {0, 20 * kMiB});
  const auto hints = FormatHints::For("a.npz", kSize);
  const ByteRange directory{offset, kSize - 22};
  EXPECT_THAT(hints->Take({kSize - 98, kSize}, end.substr(end.size() - 98)).ahead, ElementsAre(directory));
  EXPECT_THAT(hints->wanted(), ElementsAre(directory));
  EXPECT_THAT(hints->Take(directory, end.substr(0, directory.size())).boundaries,
              ElementsAre(0, 20 * kMiB, offset));
  EXPECT_THAT(hints->wanted(), IsEmpty());
}

TEST(FormatHints, ParquetTellsTheLengthOfItsFooter) {
  auto hints = FormatHints::For("a.parquet", kSize);
  EXPECT_THAT(hints->Take({0, 4}, "PAR1").ahead, ElementsAre(ByteRange{kSize - kMiB, kSize}));
  const std::string last("\0\0\x30\0PAR1", 8);
  EXPECT_THAT(hints->Take({kSize - 8, kSize}, last).ahead,
              ElementsAre(ByteRange{kSize - 3 * kMiB - 8, kSize}));
  EXPECT_THAT(hints->wanted(), IsEmpty());
}

// Whatever the bytes are, nothing is fetched for the name's sake.
TEST(FormatHints, AFileThatIsNotWhatItsNameSaysCostsNothing) {
  for (const char* key : {"a.safetensors", "a.pt", "a.parquet"}) {
    const auto hints = FormatHints::For(key, kSize);
    while (!hints->wanted().empty()) {
      const ByteRange range = hints->wanted().front();
      const FormatHints::Advice advice = hints->Take(range, std::string(range.size(), 'x'));
      EXPECT_THAT(advice.ahead, IsEmpty()) << key;
      EXPECT_THAT(advice.boundaries, IsEmpty()) << key;
    }
  }
}

TEST(FormatHints, WhatIsTooLongToBeAHeaderOrFooterIsNotFetched) {
  const std::string json = "{" + std::string(8, ' ');
  std::string head = SafetensorsHead(json).substr(0, 9);
  EXPECT_THAT(FormatHints::For("a.safetensors", kSize)->Take({0, 9}, head).ahead,
              ElementsAre(ByteRange{0, 17}));
  head.replace(8, 1, "[");
  EXPECT_THAT(FormatHints::For("a.safetensors", kSize)->Take({0, 9}, head).ahead, IsEmpty());
  head.replace(0, 9, std::string("\1\0\0\1\0\0\0\0{", 9));  // 16 MiB and a byte.
  EXPECT_THAT(FormatHints::For("a.safetensors", kSize)->Take({0, 9}, head).ahead, IsEmpty());
  const ByteRange last{kSize - 8, kSize};
  EXPECT_THAT(FormatHints::For("a.parquet", kSize)->Take(last, {"\0\0\0\1PAR1", 8}).ahead,
              ElementsAre(ByteRange{kSize - 16 * kMiB - 8, kSize}));
  EXPECT_THAT(FormatHints::For("a.parquet", kSize)->Take(last, {"\1\0\0\1PAR1", 8}).ahead, IsEmpty());
}

TEST(FormatHints, WhatPointsBeyondTheObjectIsNotFetched) {
  EXPECT_THAT(FormatHints::For("a.parquet", kSize)->Take({kSize - 8, kSize}, "\xff\xff\xff\xffPAR1").ahead,
              IsEmpty());
  EXPECT_THAT(FormatHints::For("a.safetensors", kSize)
                  ->Take({0, 9}, SafetensorsHead("{").replace(0, 8, std::string("\0\0\0\x07\0\0\0\0", 8)))
                  .ahead,
              IsEmpty());
}

}  // namespace
}  // namespace bucketvol
