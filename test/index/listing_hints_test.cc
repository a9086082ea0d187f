#include "mounter/index/listing_hints.h"

#include <cstdlib>

#include "mounter/base/file.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {
namespace {

using ::testing::IsEmpty;

ListingHints SomeHints() { return {"oss://b/p", "http://e", "p/", 1000, 128, {"p/a", "p/ab", "p/b\xff"}}; }

TEST(ListingHintsTest, ComeBackForTheirSourceOnly) {
  const TempDir dir;
  ASSERT_OK(WriteListingHints(dir.path(), SomeHints()));
  const ListingHints read = ReadListingHints(dir.path(), "oss://b/p", "http://e", "p/");
  EXPECT_EQ(read.points, SomeHints().points);
  EXPECT_EQ(read.keys_apart, 1000u);
  EXPECT_EQ(read.streams, 128u);
  EXPECT_THAT(ReadListingHints(dir.path(), "oss://c/p", "http://e", "p/").points, IsEmpty());
  EXPECT_THAT(ReadListingHints(dir.path(), "oss://b/p", "http://f", "p/").points, IsEmpty());
  EXPECT_THAT(ReadListingHints(dir.path(), "oss://b/p", "http://e", "q/").points, IsEmpty());
}

TEST(ListingHintsTest, TheGoldenFileIsStillWhatIsWritten) {
  const std::string golden =
      std::string(std::getenv("BUCKETVOL_SOURCE")) + "/test/index/golden/" + kHintsName;
  if (std::getenv("BUCKETVOL_UPDATE_GOLDEN") != nullptr) {
    ASSERT_OK(WriteFileAtomically(golden, EncodeListingHints(SomeHints())));
  }
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(golden, 1 << 20));
  EXPECT_EQ(bytes, EncodeListingHints(SomeHints()));
  ASSERT_OK_AND_ASSIGN(const ListingHints read, DecodeListingHints(bytes));
  EXPECT_EQ(read.points, SomeHints().points);
}

TEST(ListingHintsTest, DamageAndOtherVersionsAreIgnored) {
  const TempDir dir;
  EXPECT_THAT(ReadListingHints(dir.path(), "oss://b/p", "http://e", "p/").points, IsEmpty());
  const std::string good = EncodeListingHints(SomeHints());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] ^= 0x10;
    EXPECT_FALSE(DecodeListingHints(bytes).ok()) << i;
    EXPECT_FALSE(DecodeListingHints(good.substr(0, i)).ok()) << i;
  }
  ASSERT_OK(WriteFileAtomically(dir / kHintsName, good + "x"));
  EXPECT_THAT(ReadListingHints(dir.path(), "oss://b/p", "http://e", "p/").points, IsEmpty());
}

}  // namespace
}  // namespace bucketvol::testing
