#include "mounter/cli/console.h"

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

TEST(ConsoleTest, ShortensCounts) {
  EXPECT_EQ(ShortCount(0), "0");
  EXPECT_EQ(ShortCount(9'999), "9999");
  EXPECT_EQ(ShortCount(10'000), "10.0 k");
  EXPECT_EQ(ShortCount(4'230'000), "4.2 M");
}

TEST(ConsoleTest, ProgressTellsRateAndRestOnceThereIsOne) {
  ProgressBody progress;
  progress.keys = 1'000'000;
  progress.expected_keys = 3'000'000;
  EXPECT_EQ(ProgressText(progress), "listed 1.0 M keys");
  progress.elapsed_ms = 2'000;
  progress.streams = 17;
  EXPECT_EQ(ProgressText(progress), "listed 1.0 M keys, 500.0 k/s, 17 requests in flight, about 5 s left");
}

TEST(ConsoleTest, ProgressPromisesNothingItCannotKnow) {
  ProgressBody progress;
  progress.elapsed_ms = 1'000;
  EXPECT_EQ(ProgressText(progress), "listed 0 keys, 0/s");
  progress.keys = 500;
  progress.expected_keys = 400;
  EXPECT_EQ(ProgressText(progress), "listed 500 keys, 500/s");
}

TEST(ConsoleTest, ProgressTellsThatAnotherMountIsAtWork) {
  ProgressBody progress;
  progress.of_another = 1;
  EXPECT_EQ(ProgressText(progress), "another mount builds this index");
  progress.keys = 4'200'000;
  EXPECT_EQ(ProgressText(progress), "another mount builds this index: 4.2 M keys listed");
}

}  // namespace
}  // namespace bucketvol
