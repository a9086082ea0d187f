#include "mounter/prefetch/whole_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kMiB = 1 << 20;

class WholeSweepTest : public ::testing::Test {
 protected:
  /// What is planned when the link has taken everything before.
  std::vector<ByteRange> Plan(uint64_t limit) {
    std::vector<ByteRange> ahead;
    now_ += absl::Seconds(60);
    sweep_.Plan({}, kMiB, limit, now_, ahead);
    return ahead;
  }
  static uint64_t Bytes(const std::vector<ByteRange>& ranges) {
    uint64_t bytes = 0;
    for (const ByteRange& range : ranges) bytes += range.size();
    return bytes;
  }

  absl::Duration now_;
  WholeSweep sweep_{64 * kMiB + 100};
};

TEST_F(WholeSweepTest, PlansEverythingOnce) {
  uint64_t end = 0;
  while (end < 64 * kMiB + 100) {
    const std::vector<ByteRange> parts = Plan(UINT64_MAX);
    ASSERT_FALSE(parts.empty());
    for (const ByteRange& part : parts) {
      ASSERT_EQ(part.begin, end);
      end = part.end;
    }
  }
  EXPECT_THAT(Plan(UINT64_MAX), IsEmpty());
}

TEST_F(WholeSweepTest, LeavesOutWhatWasReadAndWhatIsOnItsWay) {
  sweep_.OnRead({kMiB, 2 * kMiB}, true);
  sweep_.OnPlanned({3 * kMiB, 4 * kMiB});
  const std::vector<ByteRange> parts = Plan(UINT64_MAX);
  ASSERT_GE(parts.size(), 3u);
  EXPECT_EQ(parts[0], (ByteRange{0, kMiB}));
  EXPECT_EQ(parts[1], (ByteRange{2 * kMiB, 3 * kMiB}));
  EXPECT_EQ(parts[2].begin, 4 * kMiB);
}

TEST_F(WholeSweepTest, NoMoreThanTheLimitLiesUnread) {
  EXPECT_EQ(Bytes(Plan(3 * kMiB)), 3 * kMiB);
  EXPECT_THAT(Plan(3 * kMiB), IsEmpty());
  sweep_.OnRead({kMiB, 2 * kMiB}, false);
  EXPECT_THAT(Plan(3 * kMiB), ElementsAre(ByteRange{3 * kMiB, 4 * kMiB}));
  EXPECT_EQ(sweep_.unread_bytes(), 3 * kMiB);
}

TEST_F(WholeSweepTest, WhatIsGivenUpIsPlannedAgain) {
  EXPECT_EQ(Bytes(Plan(3 * kMiB)), 3 * kMiB);
  sweep_.OnRead({kMiB, 2 * kMiB}, false);
  EXPECT_THAT(sweep_.Abandon(), ElementsAre(ByteRange{0, kMiB}, ByteRange{2 * kMiB, 3 * kMiB}));
  EXPECT_EQ(sweep_.unread_bytes(), 0u);
  EXPECT_THAT(Plan(2 * kMiB), ElementsAre(ByteRange{0, kMiB}, ByteRange{2 * kMiB, 3 * kMiB}));
  sweep_.Replan({0, kMiB});
  EXPECT_THAT(Plan(2 * kMiB), ElementsAre(ByteRange{0, kMiB}));
}

TEST_F(WholeSweepTest, TellsWhatWasNotRead) {
  sweep_.OnRead({kMiB, 2 * kMiB}, true);
  EXPECT_THAT(sweep_.Unread({{kMiB / 2, 3 * kMiB}, {kMiB, 2 * kMiB}}),
              ElementsAre(ByteRange{kMiB / 2, kMiB}, ByteRange{2 * kMiB, 3 * kMiB}));
  EXPECT_EQ(sweep_.UnreadEnd({0, 4 * kMiB}, 100), kMiB);
  EXPECT_EQ(sweep_.UnreadEnd({kMiB, 4 * kMiB}, 2 * kMiB), 4 * kMiB);
}

TEST_F(WholeSweepTest, SomebodyWhoReadsItOnceMoreIsSweptForAgain) {
  for (uint64_t at = 0; at < 64 * kMiB; at += kMiB) sweep_.OnRead({at, at + kMiB}, true);
  EXPECT_EQ(Bytes(Plan(UINT64_MAX)), 100u);
  for (uint64_t at = 0; at < 16 * kMiB; at += kMiB) sweep_.OnRead({at, at + kMiB}, false);
  EXPECT_THAT(Plan(UINT64_MAX), IsEmpty()) << "it was there all the time";
  for (uint64_t at = 0; at < 16 * kMiB; at += kMiB) sweep_.OnRead({at, at + kMiB}, true);
  EXPECT_GT(Bytes(Plan(UINT64_MAX)), kMiB);
}

}  // namespace
}  // namespace bucketvol
