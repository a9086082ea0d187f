#include "mounter/objstore/hedge_policy.h"

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

constexpr uint64_t kSize = 100'000;

class HedgePolicyTest : public ::testing::Test {
 protected:
  // GETs that take `first_byte`, then 1 ms for another piece.
  void Learn(int count, absl::Duration first_byte, uint64_t size = kSize) {
    for (int i = 0; i < count; ++i) {
      policy_.OnBegin();
      GetProgress progress = At(absl::ZeroDuration(), size);
      policy_.OnByte(progress, first_byte);
      policy_.OnByte(progress, first_byte + absl::Milliseconds(1));
      policy_.OnWhole(progress, first_byte + absl::Milliseconds(1));
      policy_.OnVerdict(false);
    }
    policy_.Refresh();
  }
  static GetProgress At(absl::Duration begun, uint64_t size = kSize) { return {size, begun, begun}; }
  static GetProgress Answered(absl::Duration last_byte, uint64_t size = kSize) {
    GetProgress progress = At(absl::ZeroDuration(), size);
    progress.answered = true;
    progress.last_byte = last_byte;
    return progress;
  }

  HedgePolicy policy_{HedgeSettings()};
};

TEST_F(HedgePolicyTest, NothingIsSlowWhileNothingIsKnown) {
  EXPECT_FALSE(policy_.IsSlow(At(absl::ZeroDuration()), absl::Hours(1)));
  Learn(19, absl::Milliseconds(35));
  EXPECT_FALSE(policy_.IsSlow(At(absl::ZeroDuration()), absl::Hours(1)));
  Learn(1, absl::Milliseconds(35));
  EXPECT_TRUE(policy_.IsSlow(At(absl::ZeroDuration()), absl::Hours(1)));
}

TEST_F(HedgePolicyTest, AFirstByteIsSlowAfterThreeTimesTheMedian) {
  Learn(100, absl::Milliseconds(35));
  EXPECT_FALSE(policy_.IsSlow(At(absl::ZeroDuration()), absl::Milliseconds(104)));
  EXPECT_TRUE(policy_.IsSlow(At(absl::ZeroDuration()), absl::Milliseconds(121)));
}

TEST_F(HedgePolicyTest, WhereTheUsualVariesAllButATwentiethIsUsual) {
  Learn(90, absl::Milliseconds(35));
  Learn(10, absl::Milliseconds(300));
  EXPECT_FALSE(policy_.IsSlow(At(absl::ZeroDuration()), absl::Milliseconds(299)));
  EXPECT_TRUE(policy_.IsSlow(At(absl::ZeroDuration()), absl::Milliseconds(345)));
}

TEST_F(HedgePolicyTest, AGapIsSlowWhenASecondRequestWouldBeFaster) {
  Learn(100, absl::Milliseconds(35));
  EXPECT_FALSE(policy_.IsSlow(Answered(absl::Milliseconds(36)), absl::Milliseconds(50)));
  constexpr uint64_t kOther = 64 << 20;  // Nothing is known of how long these take.
  EXPECT_FALSE(policy_.IsSlow(Answered(absl::Seconds(1), kOther), absl::Milliseconds(1'100)));
  EXPECT_TRUE(policy_.IsSlow(Answered(absl::Seconds(1), kOther), absl::Milliseconds(1'125)));
}

TEST_F(HedgePolicyTest, AWholeIsComparedWithThoseOfItsSize) {
  Learn(100, absl::Milliseconds(35));
  Learn(100, absl::Milliseconds(200), 8 << 20);
  const absl::Duration now = absl::Milliseconds(150);
  EXPECT_TRUE(policy_.IsSlow(Answered(now), now));
  EXPECT_FALSE(policy_.IsSlow(Answered(now, 8 << 20), now));
}

TEST_F(HedgePolicyTest, WhatTheMachineItselfDelaysIsNotSlow) {
  Learn(100, absl::Microseconds(200));
  EXPECT_FALSE(policy_.IsSlow(At(absl::ZeroDuration()), absl::Milliseconds(9)));
  EXPECT_TRUE(policy_.IsSlow(At(absl::ZeroDuration()), absl::Milliseconds(11)));
}

TEST_F(HedgePolicyTest, OneInTwentyMayBeSentTwice) {
  Learn(1'000, absl::Milliseconds(35));
  int sent = 0;
  while (policy_.Spend(GetPurpose::kDemand)) ++sent;
  EXPECT_EQ(sent, 16);  // What was saved up.
  for (int i = 0; i < 1'000; ++i) {
    policy_.OnBegin();
    if (policy_.Spend(GetPurpose::kDemand)) ++sent;
  }
  EXPECT_GE(sent, 16 + 49);
  EXPECT_LE(sent, 16 + 50);
}

TEST_F(HedgePolicyTest, AnOutageIsNotHedged) {
  Learn(1'000, absl::Milliseconds(35));
  for (int i = 0; i < 8; ++i) policy_.OnVerdict(true);
  EXPECT_TRUE(policy_.Spend(GetPurpose::kDemand));  // A tail.
  for (int i = 0; i < 8; ++i) policy_.OnVerdict(true);
  EXPECT_TRUE(policy_.outage());
  EXPECT_FALSE(policy_.Spend(GetPurpose::kDemand));
  for (int i = 0; i < 200; ++i) policy_.OnVerdict(false);
  EXPECT_TRUE(policy_.Spend(GetPurpose::kDemand));
}

TEST_F(HedgePolicyTest, OneSlowRequestAmongFewIsNoOutage) {
  policy_.OnVerdict(true);
  EXPECT_FALSE(policy_.outage());
  policy_.OnVerdict(true);
  EXPECT_TRUE(policy_.outage());
}

TEST_F(HedgePolicyTest, AStallIsKnownLate) {
  EXPECT_FALSE(policy_.HasStalled(At(absl::ZeroDuration()), absl::Seconds(19)));
  EXPECT_TRUE(policy_.HasStalled(At(absl::ZeroDuration()), absl::Seconds(21)));
  Learn(300, absl::Milliseconds(35));
  for (const bool answered : {false, true}) {
    GetProgress progress = At(absl::ZeroDuration());
    progress.answered = answered;
    EXPECT_FALSE(policy_.HasStalled(progress, absl::Seconds(1.4)));
    EXPECT_TRUE(policy_.HasStalled(progress, absl::Seconds(1.6)));
  }
}

TEST_F(HedgePolicyTest, AServiceThatOftenTakesLongHasNotStalled) {
  Learn(990, absl::Milliseconds(35));
  Learn(10, absl::Seconds(4));
  EXPECT_FALSE(policy_.HasStalled(At(absl::ZeroDuration()), absl::Seconds(3.9)));
  EXPECT_TRUE(policy_.HasStalled(At(absl::ZeroDuration()), absl::Seconds(5)));
}

TEST_F(HedgePolicyTest, AnOutageIsWaitedFor) {
  Learn(300, absl::Milliseconds(35));
  for (int i = 0; i < 30; ++i) policy_.OnVerdict(true);
  policy_.Refresh();
  EXPECT_FALSE(policy_.HasStalled(At(absl::ZeroDuration()), absl::Seconds(19)));
}

TEST_F(HedgePolicyTest, WhatWasGivenUpCountsAsSlow) {
  Learn(100, absl::Milliseconds(35));
  for (int i = 0; i < 30; ++i) policy_.OnGivenUp(At(absl::ZeroDuration()), absl::Milliseconds(400));
  policy_.Refresh();
  EXPECT_FALSE(policy_.IsSlow(At(absl::ZeroDuration()), absl::Milliseconds(390)));
}

TEST_F(HedgePolicyTest, LooksOftenEnoughForItsLimits) {
  EXPECT_EQ(policy_.LookInterval(), absl::Milliseconds(50));
  Learn(100, absl::Milliseconds(35));
  EXPECT_LE(policy_.LookInterval(), absl::Milliseconds(15));
  EXPECT_GE(policy_.LookInterval(), absl::Milliseconds(10));
}

}  // namespace
}  // namespace bucketvol
