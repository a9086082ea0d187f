#include "mounter/objstore/waiting_room.h"

#include "gtest/gtest.h"
#include "test/support/status_matchers.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using testing::StatusIs;

class WaitingRoomTest : public ::testing::Test {
 protected:
  void Wait(absl::Duration delay, std::shared_ptr<Cancellation> cancellation = nullptr) {
    room_.Wait(delay, std::move(cancellation),
               [this](absl::Status status) { results_.push_back(std::move(status)); });
  }

  testing::VirtualTime time_;
  WaitingRoom room_{time_};
  std::vector<absl::Status> results_;
};

TEST_F(WaitingRoomTest, GoesOnWhenTheTimeHasCome) {
  Wait(absl::Seconds(5));
  time_.Advance(absl::Seconds(4));
  EXPECT_TRUE(results_.empty());
  time_.Advance(absl::Seconds(1));
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_OK(results_[0]);
}

TEST_F(WaitingRoomTest, CancellationEndsItOnce) {
  const auto cancellation = std::make_shared<Cancellation>();
  Wait(absl::Seconds(5), cancellation);
  cancellation->Cancel();
  time_.Advance(absl::ZeroDuration());
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_THAT(results_[0], StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  time_.RunUntilIdle();
  EXPECT_EQ(results_.size(), 1u);
}

TEST_F(WaitingRoomTest, WhatIsCancelledAlreadyDoesNotWait) {
  const auto cancellation = std::make_shared<Cancellation>();
  cancellation->Cancel();
  Wait(absl::Seconds(5), cancellation);
  time_.Advance(absl::ZeroDuration());
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_THAT(results_[0], StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST_F(WaitingRoomTest, LeavesNoActionBehind) {
  const auto cancellation = std::make_shared<Cancellation>();
  Wait(absl::Seconds(1), cancellation);
  time_.RunUntilIdle();
  cancellation->Cancel();  // Would post for a seat that is gone.
  EXPECT_FALSE(time_.RunOne());
  EXPECT_EQ(results_.size(), 1u);
}

TEST_F(WaitingRoomTest, ClosingEndsAllThatWait) {
  Wait(absl::Seconds(1));
  Wait(absl::Seconds(2), std::make_shared<Cancellation>());
  room_.Close();
  EXPECT_EQ(results_.size(), 2u);
  Wait(absl::ZeroDuration());
  ASSERT_EQ(results_.size(), 3u);
  for (const absl::Status& status : results_)
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  time_.RunUntilIdle();
  EXPECT_EQ(results_.size(), 3u);
}

TEST(WaitingRoomLifeTest, TimersMayOutliveTheRoom) {
  testing::VirtualTime time;
  int ends = 0;
  {
    WaitingRoom room(time);
    room.Wait(absl::Seconds(1), nullptr, [&](absl::Status) { ++ends; });
  }
  time.RunUntilIdle();
  EXPECT_EQ(ends, 1);
}

}  // namespace
}  // namespace bucketvol
