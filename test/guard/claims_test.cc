#include "mounter/guard/claims.h"

#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {
namespace {

TEST(ClaimsTest, ComeBackAsTheyWereWritten) {
  TempDir dir;
  for (const Claims& claims :
       {Claims{}, Claims{{"one", "two"}, {"/mnt/a\nb", "/ö"}, false}, Claims{{}, {"/mnt"}, true}}) {
    ASSERT_TRUE(WriteClaims(dir.path(), claims).ok());
    EXPECT_EQ(ReadClaims(dir.path()).value_or(Claims{}), claims);
  }
}

TEST(ClaimsTest, WhatIsNotThereIsNone) { EXPECT_EQ(ReadClaims("/nonexistent"), std::nullopt); }

TEST(ClaimsTest, SkipsWordsOfANewerVersionAndWhatIsCutOff) {
  using namespace std::string_literals;
  EXPECT_EQ(DecodeClaims("xnew\0ssource\0\0m/mnt\0m/cut of"s), (Claims{{"source"}, {"/mnt"}, false}));
}

TEST(ClaimsTest, AFailedChangeLeavesWhatWasThere) {
  TempDir dir;
  ASSERT_TRUE(WriteClaims(dir.path(), Claims{{"one"}, {"/mnt"}, false}).ok());
  ASSERT_EQ(symlink("/nonexistent/file", (dir / "claims.new").c_str()), 0);
  EXPECT_FALSE(WriteClaims(dir.path(), Claims{}).ok());
  EXPECT_TRUE(ReadClaims(dir.path())->HasSource("one"));
  EXPECT_TRUE(ReadClaims(dir.path())->HasMountPoint("/mnt"));
  EXPECT_FALSE(ReadClaims(dir.path())->HasMountPoint("/mn"));
}

}  // namespace
}  // namespace bucketvol::testing
