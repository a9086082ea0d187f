#include "mounter/index/lister_streams.h"

#include <algorithm>
#include <utility>

#include "gtest/gtest.h"

namespace bucketvol::testing {
namespace {

// Pages that take as long as a service needs that answers `slots` requests at once.
void Serve(StreamControl& control, int pages, double slots) {
  for (int i = 0; i < pages; ++i) {
    const absl::Duration taken = absl::Milliseconds(100) * std::max(1.0, control.limit() / slots);
    control.OnPage(taken, taken);
  }
}

TEST(StreamControlTest, GrowsWhilePagesDoNotSlowEachOther) {
  StreamControl control(16, 128);
  EXPECT_EQ(control.limit(), 16);
  Serve(control, 2 + 8 + 16 + 32, 1e9);
  EXPECT_EQ(control.limit(), 128);
  Serve(control, 1000, 1e9);
  EXPECT_EQ(control.limit(), 128);
}

TEST(StreamControlTest, HoldsWhenTheServiceIsBusy) {
  StreamControl control(16, 128);
  Serve(control, 2, 1e9);
  Serve(control, 1000, 16);
  EXPECT_EQ(control.limit(), 16);
}

TEST(StreamControlTest, OpeningConnectionsDoesNotLookLikeABusyService) {
  StreamControl control(16, 128);
  int limit = 16;
  int opening = 16;
  for (int i = 0; i < 400; ++i) {
    if (control.limit() > limit) opening += std::exchange(limit, control.limit());
    const absl::Duration taken = absl::Milliseconds(opening-- > 0 ? 350 : 100);
    control.OnPage(taken, taken);
  }
  EXPECT_EQ(control.limit(), 128);
}

TEST(StreamControlTest, EqualBoundsAreFixed) {
  StreamControl control(5, 5);
  Serve(control, 1000, 1e9);
  control.OnThrottled();
  EXPECT_EQ(control.limit(), 5);
}

TEST(StreamControlTest, FallsWhenThrottledButNotBelowTheLeast) {
  StreamControl control(16, 128);
  Serve(control, 200, 1e9);
  control.OnThrottled();
  EXPECT_EQ(control.limit(), 96);
  control.OnThrottled();  // Of the same burst.
  EXPECT_EQ(control.limit(), 96);
  for (int i = 0; i < 50; ++i) {
    for (int j = 0; j < 50; ++j) control.OnPage(absl::Seconds(1), absl::Seconds(1));
    control.OnThrottled();
  }
  EXPECT_EQ(control.limit(), 16);
}

TEST(StreamControlTest, DeadlineIsThreeTimesTheSlowPages) {
  StreamControl control(16, 128);
  EXPECT_EQ(control.Deadline(), absl::InfiniteDuration());
  for (int i = 0; i < 980; ++i) control.OnPage(absl::Milliseconds(100), absl::Milliseconds(100));
  EXPECT_EQ(control.Deadline(), absl::Seconds(2));
  for (int i = 0; i < 20; ++i) control.OnPage(absl::Seconds(2), absl::Seconds(2));
  EXPECT_GE(control.Deadline(), absl::Seconds(6));
  EXPECT_LE(control.Deadline(), absl::Seconds(8));
}

TEST(StreamControlTest, OneInAHundredDoesNotSetTheDeadline) {
  StreamControl control(16, 128);
  for (int i = 0; i < 1000; ++i) control.OnPage(absl::Milliseconds(100), absl::Milliseconds(100));
  for (int i = 0; i < 5; ++i) control.OnPage(absl::Minutes(1), absl::Minutes(1));
  EXPECT_EQ(control.Deadline(), absl::Seconds(2));
}

}  // namespace
}  // namespace bucketvol::testing
