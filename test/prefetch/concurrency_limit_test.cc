#include "mounter/prefetch/concurrency_limit.h"

#include <gtest/gtest.h>

namespace bucketvol {
namespace {

constexpr uint64_t kSmall = 100'000;
constexpr uint64_t kPart = 8 << 20;

class ConcurrencyLimitTest : public ::testing::Test {
 protected:
  /// Starts prefetches as long as they may.
  int Fill(uint64_t bytes) {
    int started = 0;
    for (; limit_.MayStart(Urgency::kPrefetch, bytes); ++started) limit_.OnStart(Urgency::kPrefetch, bytes);
    return started;
  }
  void Finish(int count, uint64_t bytes) {
    for (int i = 0; i < count; ++i)
      limit_.OnDone({Urgency::kPrefetch, bytes, bytes, absl::Milliseconds(100), FetchOutcome::kOk}, now_);
  }
  /// What the service says for a while, with several answers at a time.
  void Signal(LoadSignal signal, absl::Duration time = absl::ZeroDuration()) {
    for (const absl::Duration end = now_ + time; now_ <= end; now_ += absl::Milliseconds(500)) {
      for (int i = 0; i < 10; ++i) limit_.OnSignal(signal, now_);
    }
  }
  /// Starts what readers wait for, as long as it may.
  int FillDemand() {
    int started = 0;
    for (; limit_.MayStart(Urgency::kDemand, kSmall); ++started) limit_.OnStart(Urgency::kDemand, kSmall);
    return started;
  }
  void FinishDemand(int count) {
    for (int i = 0; i < count; ++i)
      limit_.OnDone({Urgency::kDemand, kSmall, kSmall, absl::Milliseconds(2), FetchOutcome::kOk}, now_);
  }

  absl::Duration now_ = absl::Seconds(1);
  ConcurrencyLimit limit_{{}};
};

TEST_F(ConcurrencyLimitTest, RequestsDoublePerRoundTripUpToTheCap) {
  for (const int round : {16, 32, 64, 128, 256, 256}) {
    EXPECT_EQ(Fill(kSmall), round);
    Finish(round, kSmall);
  }
}

TEST_F(ConcurrencyLimitTest, UnusedLimitDoesNotGrow) {
  for (int i = 0; i < 100; ++i) {
    limit_.OnStart(Urgency::kPrefetch, kSmall);
    Finish(1, kSmall);
  }
  EXPECT_EQ(limit_.prefetch_requests_limit(), 16);
}

TEST_F(ConcurrencyLimitTest, ThrottlingCutsOncePerPauseAndEndsDoubling) {
  for (int i = 0; i < 3; ++i) Finish(Fill(kSmall), kSmall);
  ASSERT_EQ(limit_.prefetch_requests_limit(), 128);
  const int started = Fill(kSmall);
  Signal(LoadSignal::kTooManyRequests);
  EXPECT_EQ(limit_.prefetch_requests_limit(), 89);
  Finish(started, kSmall);
  EXPECT_EQ(limit_.prefetch_requests_limit(), 98);  // By the root.
}

TEST_F(ConcurrencyLimitTest, BandwidthThrottlingCutsBytesNotRequests) {
  const uint64_t requests = limit_.prefetch_requests_limit();
  const uint64_t bytes = limit_.prefetch_bytes_limit();
  const int started = Fill(16 * kPart) + Fill(kPart);
  Signal(LoadSignal::kTooManyBytes);
  Finish(started, kPart);
  EXPECT_EQ(limit_.prefetch_requests_limit(), requests);
  EXPECT_NEAR(static_cast<double>(limit_.prefetch_bytes_limit()), 0.7 * static_cast<double>(bytes), 1);
  EXPECT_EQ(limit_.requests_limit(), 4096);
}

TEST_F(ConcurrencyLimitTest, ALimitFarAboveWhatIsInUseIsCutFurther) {
  limit_.OnStart(Urgency::kPrefetch, kPart);
  Signal(LoadSignal::kTooManyBytes);
  EXPECT_NEAR(static_cast<double>(limit_.prefetch_bytes_limit()), 0.35 * (256 << 20), 1);
  Signal(LoadSignal::kTooManyBytes, absl::Seconds(10));
  EXPECT_EQ(limit_.prefetch_bytes_limit(), kPart) << "a usual part always may be fetched";
}

// However much readers wait for: that is what the service cannot bear.
TEST_F(ConcurrencyLimitTest, TooManyOpenRequestsLowerTheHardCap) {
  for (int i = 0; i < 1'000; ++i) limit_.OnStart(Urgency::kDemand, kSmall);
  Signal(LoadSignal::kTooManyAtATime);
  EXPECT_EQ(limit_.requests_limit(), 700);
  EXPECT_FALSE(limit_.MayStart(Urgency::kDemand, kSmall));
  FinishDemand(300);
  EXPECT_FALSE(limit_.MayStart(Urgency::kPrefetch, kSmall));
  FinishDemand(1);
  EXPECT_TRUE(limit_.MayStart(Urgency::kDemand, kSmall));
  FinishDemand(699);
  Signal(LoadSignal::kTooManyAtATime, absl::Seconds(10));
  EXPECT_EQ(FillDemand(), 16) << "so many always may be open";
}

TEST_F(ConcurrencyLimitTest, ALoweredHardCapComesBackByItsRootWhileItIsUsedUp) {
  for (int i = 0; i < 1'000; ++i) limit_.OnStart(Urgency::kDemand, kSmall);
  Signal(LoadSignal::kTooManyAtATime);
  FinishDemand(1'000);
  const uint64_t unused = limit_.requests_limit();
  for (int i = 0; i < 2'000; ++i) {
    limit_.OnStart(Urgency::kDemand, kSmall);
    FinishDemand(1);
  }
  EXPECT_LE(limit_.requests_limit(), unused + 26) << "nobody needed more";
  const uint64_t before = limit_.requests_limit();
  FinishDemand(FillDemand());
  EXPECT_EQ(limit_.requests_limit(), before + 26);
  for (int i = 0; i < 200; ++i) FinishDemand(FillDemand());
  EXPECT_EQ(limit_.requests_limit(), 4096);
}

// More bytes at a time bring nothing: what is held back comes no sooner.
TEST_F(ConcurrencyLimitTest, WhatTheServiceHoldsBackIsNoReasonToTryMore) {
  const auto run = [&](bool held_back) {
    for (int i = 0; i < 20; ++i) {
      const int started = Fill(kPart);
      if (held_back) Signal(LoadSignal::kHeldBack);
      now_ += absl::Milliseconds(25) * started;
      Finish(started, kPart);
    }
    return limit_.prefetch_bytes_limit();
  };
  const uint64_t settled = run(false);
  ASSERT_GT(settled, uint64_t{256} << 20);
  EXPECT_LT(run(true), settled);
  EXPECT_EQ(limit_.requests_limit(), 4096);
}

TEST_F(ConcurrencyLimitTest, BytesGrowWhileThroughputDoes) {
  const uint64_t start = limit_.prefetch_bytes_limit();
  for (int i = 0; i < 20; ++i) {
    const int started = Fill(kPart);
    now_ += absl::Milliseconds(500);  // The more is out, the more comes.
    Finish(started, kPart);
  }
  EXPECT_GE(limit_.prefetch_bytes_limit(), 2 * start);
}

TEST_F(ConcurrencyLimitTest, BytesStayWhereMoreBringsNothing) {
  for (int i = 0; i < 20; ++i) {
    const int started = Fill(kPart);
    now_ += absl::Milliseconds(25) * started;
    Finish(started, kPart);
  }
  const uint64_t settled = limit_.prefetch_bytes_limit();
  for (int i = 0; i < 20; ++i) {
    const int started = Fill(kPart);
    now_ += absl::Milliseconds(25) * started;
    Finish(started, kPart);
  }
  EXPECT_LE(limit_.prefetch_bytes_limit(), settled + settled / 4);
}

TEST_F(ConcurrencyLimitTest, DemandIsNotHeldBackBelowTheHardCap) {
  Fill(kPart);
  for (int i = static_cast<int>(limit_.requests_in_flight()); i < 4096; ++i) {
    ASSERT_TRUE(limit_.MayStart(Urgency::kDemand, kPart));
    limit_.OnStart(Urgency::kDemand, kPart);
  }
  EXPECT_FALSE(limit_.MayStart(Urgency::kDemand, 1));
}

TEST_F(ConcurrencyLimitTest, OnePrefetchAlwaysMayRun) {
  EXPECT_TRUE(limit_.MayStart(Urgency::kPrefetch, uint64_t{1} << 40));
  limit_.OnStart(Urgency::kPrefetch, uint64_t{1} << 40);
  EXPECT_FALSE(limit_.MayStart(Urgency::kPrefetch, 1));
}

TEST_F(ConcurrencyLimitTest, RaisedPrefetchMakesRoom) {
  Fill(kSmall);
  EXPECT_FALSE(limit_.MayStart(Urgency::kPrefetch, kSmall));
  limit_.OnRaised(kSmall);
  EXPECT_TRUE(limit_.MayStart(Urgency::kPrefetch, kSmall));
  limit_.OnDone({Urgency::kDemand, kSmall, kSmall, {}, FetchOutcome::kOk}, now_);
  EXPECT_EQ(limit_.requests_in_flight(), 15);
}

TEST_F(ConcurrencyLimitTest, MeasuresTheWay) {
  for (int i = 1; i <= 200; ++i) limit_.OnFirstByte(absl::Milliseconds(i % 100));
  EXPECT_NEAR(absl::ToDoubleMilliseconds(limit_.link().first_byte_p50), 50, 5);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(limit_.link().first_byte_p95), 95, 5);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(limit_.link().first_byte_p99), 99, 2);
  for (int i = 0; i < 20; ++i) {
    now_ += absl::Milliseconds(100);
    limit_.OnStart(Urgency::kDemand, kPart);
    limit_.OnDone({Urgency::kDemand, kPart, kPart, absl::Milliseconds(100), FetchOutcome::kOk}, now_);
  }
  EXPECT_NEAR(limit_.link().connection_bytes_per_second, kPart * 10.0, 1e6);
  EXPECT_NEAR(limit_.link().bytes_per_second, kPart * 10.0, 1e7);
}

TEST_F(ConcurrencyLimitTest, SharedLinkDoesNotLookLikeASlowConnection) {
  const auto bodies = [&](absl::Duration transfer) {
    for (int i = 0; i < 16; ++i) {
      limit_.OnStart(Urgency::kDemand, kPart);
      limit_.OnDone({Urgency::kDemand, kPart, kPart, transfer, FetchOutcome::kOk},
                    now_ += absl::Milliseconds(20));
    }
  };
  bodies(absl::Milliseconds(100));
  const double alone = limit_.link().connection_bytes_per_second;
  bodies(absl::Milliseconds(400));
  EXPECT_GE(limit_.link().connection_bytes_per_second, 0.9 * alone);
}

}  // namespace
}  // namespace bucketvol
