#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/fetch_errors.h"
#include "mounter/reader/object_registry.h"
#include "mounter/reader/recent_failures.h"
#include "mounter/reader/stale_objects.h"
#include "test/support/fake_clock.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(ObjectRegistryTest, GivesOneObjectPerVersionAndForgetsWhatNobodyHolds) {
  ObjectRegistry registry({.block_bytes = kMiB, .fetch_bytes = kMiB, .streams = {}});
  std::shared_ptr<CachedObject> object = registry.Get({"key", "E1", 5});
  EXPECT_EQ(registry.Get({"key", "E1", 5}), object);
  EXPECT_NE(registry.Get({"key", "E2", 5}), object);
  EXPECT_EQ(registry.size(), 1u);
  object.reset();
  EXPECT_EQ(registry.size(), 0u);
}

TEST(ObjectRegistryTest, SurvivesObjectsThatComeAndGo) {
  ObjectRegistry registry({.block_bytes = kMiB, .fetch_bytes = kMiB, .streams = {}});
  const auto churn = [&] {
    for (int i = 0; i < 20'000; ++i) EXPECT_EQ(registry.Get({"key", "E", 5})->id().key, "key");
  };
  std::thread other(churn);
  churn();
  other.join();
  EXPECT_EQ(registry.size(), 0u);
}

TEST(StaleObjectsTest, IsForgivenAfterAWhileButRemembered) {
  testing::FakeClock clock;
  StaleObjects stale(clock, absl::Seconds(10));
  const ObjectId object{"key", "E1", 5};
  EXPECT_OK(stale.Check(object));
  EXPECT_TRUE(stale.Mark(object, absl::NotFoundError("gone")));
  EXPECT_TRUE(absl::IsNotFound(stale.Check(object)));
  EXPECT_OK(stale.Check({"key", "E2", 5}));
  clock.Advance(absl::Seconds(10));
  EXPECT_OK(stale.Check(object));
  EXPECT_FALSE(stale.Mark(object, absl::NotFoundError("gone")));
  EXPECT_TRUE(absl::IsNotFound(stale.Check(object)));
}

TEST(RecentFailuresTest, AreRememberedForAMomentIfTheyTookLong) {
  testing::FakeClock clock;
  RecentFailures failures(clock);
  const ObjectId object{"key", "E1", 500};
  const auto known = [&](ByteRange range) { return !failures.Check(object, range).ok(); };
  failures.Note(object, {100, 200}, absl::UnavailableError("reset"), absl::Seconds(10));
  EXPECT_TRUE(known({199, 300}));
  EXPECT_FALSE(known({200, 300}));
  EXPECT_OK(failures.Check({"key", "E2", 500}, {100, 200}));
  clock.Advance(absl::Seconds(1));
  EXPECT_FALSE(known({100, 200}));
  failures.Note(object, {0, 50}, absl::DataLossError("wrong bytes"), absl::Seconds(9));
  EXPECT_FALSE(known({0, 1})) << "by chance it succeeds";
}

TEST(FetchErrorsTest, LogsOneLineASecondAndTellsHowManyItLeftOut) {
  testing::FakeClock clock;
  FetchErrors errors(clock);
  const auto logged = [&](int count) {
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < count; ++i) errors.Note(absl::UnavailableError("reset"));
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(logged(1), ::testing::EndsWith("reset\n"));
  EXPECT_EQ(logged(5), "");
  clock.Advance(absl::Seconds(1));
  EXPECT_THAT(logged(1), ::testing::HasSubstr("errors not shown since the last line: 5"));
  clock.Advance(absl::Seconds(1));
  EXPECT_THAT(logged(1), ::testing::EndsWith("reset\n"));
  EXPECT_EQ(errors.last(), "reset");
}

}  // namespace
}  // namespace bucketvol
