#include "test/support/virtual_time.h"

#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bucketvol::testing {
namespace {

using ::testing::ElementsAre;

TEST(VirtualTimeTest, RunsInOrderOfTimeAndMovesTheClock) {
  VirtualTime time;
  std::vector<std::pair<int, absl::Duration>> ran;
  const auto note = [&](int id) { return [&, id] { ran.emplace_back(id, time.Elapsed()); }; };
  time.PostAfter(absl::Seconds(2), note(2));
  time.PostAfter(absl::Seconds(1), note(1));
  time.Post(note(0));
  time.RunUntilIdle();
  EXPECT_THAT(ran, ElementsAre(std::pair(0, absl::ZeroDuration()), std::pair(1, absl::Seconds(1)),
                               std::pair(2, absl::Seconds(2))));
}

TEST(VirtualTimeTest, EqualTimesKeepTheOrderOfPosting) {
  VirtualTime time;
  std::string ran;
  for (char c = 'a'; c < 'f'; ++c) time.Post([&ran, c] { ran.push_back(c); });
  time.RunUntilIdle();
  EXPECT_EQ(ran, "abcde");
}

TEST(VirtualTimeTest, RandomOrderDependsOnTheSeedOnly) {
  const auto run = [](uint64_t seed) {
    VirtualTime time(VirtualTime::Order::kRandom, seed);
    std::string ran;
    for (char c = 'a'; c <= 'z'; ++c) time.Post([&ran, c] { ran.push_back(c); });
    time.RunUntilIdle();
    return ran;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST(VirtualTimeTest, AdvanceStopsExactlyAtItsEnd) {
  VirtualTime time;
  int ran = 0;
  time.PostAfter(absl::Seconds(1), [&] { ++ran; });
  time.PostAfter(absl::Seconds(3), [&] { ++ran; });
  time.Advance(absl::Seconds(2));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(time.Elapsed(), absl::Seconds(2));
}

TEST(VirtualTimeTest, BackgroundThreadRunsTasksAsTheyCome) {
  VirtualTime time;
  time.RunInBackground();
  absl::Notification done;
  time.PostAfter(absl::Hours(1), [&] { done.Notify(); });
  done.WaitForNotification();
  EXPECT_EQ(time.Elapsed(), absl::Hours(1));
}

}  // namespace
}  // namespace bucketvol::testing
