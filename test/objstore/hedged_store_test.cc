#include "mounter/objstore/hedged_store.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "mounter/objstore/store_error.h"
#include "test/objstore/hand_store.h"
#include "test/objstore/recording_sink.h"
#include "test/support/status_matchers.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using ::testing::_;
using testing::HandStore;
using ::testing::HasSubstr;
using testing::RecordingSink;
using testing::StatusIs;

constexpr ByteRange kRange{10, 1'010};

class HedgedStoreTest : public ::testing::Test {
 protected:
  HedgedStoreTest() {
    // So many GETs of 35 ms that it is known what is slow: 105 ms and more.
    for (int i = 0; i < 300; ++i) {
      RecordingSink sink;
      store_.Get(Request(), &sink);
      time_.Advance(absl::Milliseconds(35));
      inner_.Finish(base_++);
    }
  }
  void TearDown() override {
    cancellation_->Cancel();
    time_.Advance(absl::Seconds(1));
    store_.Close();
    time_.RunUntilIdle();
  }

  GetRequest Request() {
    GetRequest request;
    request.key = "k";
    request.range = range_;
    request.if_match = "E";
    request.object_size = 5'000;
    request.cancellation = cancellation_;
    request.purpose = purpose_;
    return request;
  }
  void Start() { store_.Get(Request(), &sink_); }
  void StartMany(int count) {
    for (int i = 0; i < count; ++i) {
      sinks_.push_back(std::make_unique<RecordingSink>());
      store_.Get(Request(), sinks_.back().get());
    }
  }
  void Wait(int milliseconds) { time_.Advance(absl::Milliseconds(milliseconds)); }

  // The GETs of the test, numbered from 0.
  size_t sent() const { return inner_.count() - base_; }
  const GetRequest& request(size_t i) const { return inner_.request(base_ + i); }
  void Give(size_t i, uint64_t bytes) { inner_.Give(base_ + i, bytes); }
  void End(size_t i, absl::Status status) { inner_.End(base_ + i, std::move(status)); }
  void Finish(size_t i) { inner_.Finish(base_ + i); }
  bool cancelled(size_t i) const { return inner_.cancelled(base_ + i); }

  void ExpectWhole() {
    EXPECT_OK(sink_.status());
    EXPECT_EQ(sink_.ends(), 1);
    EXPECT_EQ(sink_.data(), HandStore::Bytes(range_));
    EXPECT_EQ(sink_.version(), "E");
  }

  testing::VirtualTime time_;
  HandStore inner_{time_};
  StoreMetrics metrics_;
  RequestGate gate_{0, time_, metrics_};
  std::shared_ptr<SharedPurpose> purpose_ = std::make_shared<SharedPurpose>(GetPurpose::kDemand);
  const std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
  ByteRange range_ = kRange;
  RecordingSink sink_;
  std::vector<std::unique_ptr<RecordingSink>> sinks_;
  size_t base_ = 0;
  HedgedStore store_{inner_, HedgeSettings(), gate_, time_, time_, metrics_};
};

TEST_F(HedgedStoreTest, WhatIsInTimeIsAskedForOnce) {
  Start();
  Wait(90);
  Finish(0);
  ExpectWhole();
  EXPECT_EQ(sent(), 1u);
  EXPECT_EQ(request(0).range, kRange);
  EXPECT_EQ(request(0).object_size, 5'000u);
}

TEST_F(HedgedStoreTest, ASlowFirstByteIsAskedForAgain) {
  Start();
  Wait(140);
  ASSERT_EQ(sent(), 2u);
  EXPECT_EQ(request(1).range, kRange);
  EXPECT_EQ(request(1).if_match, "E");
  EXPECT_EQ(request(1).object_size, 5'000u);
  Finish(1);
  ExpectWhole();
  EXPECT_TRUE(cancelled(0));
  EXPECT_EQ(metrics_.hedged, 1u);
  EXPECT_EQ(metrics_.hedges_won, 1u);
  EXPECT_EQ(metrics_.Requests(StoreOperation::kGet), 1u);  // The first is the meter's to count.
}

TEST_F(HedgedStoreTest, AStallInTheMiddleIsAskedForFromTheMissingByteOn) {
  Start();
  Wait(35);
  Give(0, 400);
  Wait(140);
  ASSERT_EQ(sent(), 2u);
  EXPECT_EQ(request(1).range, (ByteRange{410, 1'010}));
  Give(1, 100);
  EXPECT_TRUE(cancelled(0));
  Give(0, 300);  // Too late.
  Finish(1);
  ExpectWhole();
  EXPECT_EQ(metrics_.bytes_discarded, 300u);
  EXPECT_EQ(metrics_.bytes_in, 300u);  // The bytes of the result are the meter's to count.
}

TEST_F(HedgedStoreTest, WhoWakesUpFirstGoesOn) {
  range_.end = 1 << 20;  // Nobody knows how long these take.
  Start();
  Wait(35);
  Give(0, 400);
  Wait(140);
  Give(0, 1);
  EXPECT_TRUE(cancelled(1));
  Wait(140);
  ASSERT_EQ(sent(), 3u);  // It sleeps again.
  EXPECT_EQ(request(2).range.begin, 411u);
  Finish(2);
  ExpectWhole();
}

TEST_F(HedgedStoreTest, WhatOnlyDripsIsOvertaken) {
  Start();
  Wait(35);
  for (int i = 0; i < 20 && sent() == 1; ++i) {
    Give(0, 10);
    Wait(10);
  }
  ASSERT_EQ(sent(), 2u);
  const uint64_t begin = request(1).range.begin;
  EXPECT_GT(begin, 50u);
  Give(0, 50);  // Ahead, but the other one catches up.
  EXPECT_FALSE(cancelled(1));
  Give(1, 40);
  EXPECT_FALSE(cancelled(0));
  Give(1, 40);
  EXPECT_TRUE(cancelled(0));
  Finish(1);
  ExpectWhole();
}

TEST_F(HedgedStoreTest, TheFirstMayStillBeFaster) {
  Start();
  Wait(140);
  ASSERT_EQ(sent(), 2u);
  Finish(0);
  ExpectWhole();
  EXPECT_TRUE(cancelled(1));
  EXPECT_EQ(metrics_.hedges_won, 0u);
}

TEST_F(HedgedStoreTest, WhatIsFetchedAheadLeavesSomeToReaders) {
  HedgedStore store(inner_, {.outage_share = 1}, gate_, time_, time_, metrics_);
  for (int i = 0; i < 50; ++i) {  // Two second requests at first, and one for each twenty.
    RecordingSink sink;
    store.Get(Request(), &sink);
    Wait(35);
    Finish(static_cast<size_t>(i));
  }
  base_ = inner_.count();
  purpose_->Set(GetPurpose::kPrefetch);
  store.Get(Request(), &sink_);
  Wait(500);
  EXPECT_EQ(sent(), 1u) << "4.55 are left, and 4 of them for readers";
  purpose_->Set(GetPurpose::kDemand);  // A reader has come.
  Wait(20);
  ASSERT_EQ(sent(), 2u);
  Finish(1);
  ExpectWhole();
  Wait(1);  // The loser ends.
  store.Close();
}

TEST_F(HedgedStoreTest, WhereThereIsEnoughWhatIsFetchedAheadIsAskedForAgainToo) {
  purpose_->Set(GetPurpose::kPrefetch);
  Start();
  Wait(140);
  ASSERT_EQ(sent(), 2u);
  Finish(1);
  ExpectWhole();
}

TEST_F(HedgedStoreTest, WithoutAVersionNothingIsAskedForTwice) {
  GetRequest request = Request();
  request.if_match = "";
  store_.Get(std::move(request), &sink_);
  Wait(500);
  EXPECT_EQ(sent(), 1u);
}

TEST_F(HedgedStoreTest, TheOneThatFailsLeavesItToTheOther) {
  for (const size_t failing : {0, 1}) {
    SCOPED_TRACE(failing);
    base_ = inner_.count();
    RecordingSink sink;
    store_.Get(Request(), &sink);
    Wait(140);
    ASSERT_EQ(sent(), 2u);
    End(failing, MakeStoreStatus(absl::StatusCode::kUnavailable, "c",
                                 {.retryable = true, .congestion = Congestion::kServerTrouble}));
    EXPECT_FALSE(sink.done());
    Finish(1 - failing);
    EXPECT_OK(sink.status());
    EXPECT_EQ(sink.data(), HandStore::Bytes(kRange));
  }
  // Nobody else hears of these failures.
  EXPECT_EQ(metrics_.congestion[static_cast<int>(Congestion::kServerTrouble)], 2u);
}

TEST_F(HedgedStoreTest, WhenBothFailTheCallFails) {
  Start();
  Wait(140);
  End(1, absl::UnavailableError("second"));
  EXPECT_FALSE(sink_.done());
  End(0, absl::UnavailableError("first"));
  EXPECT_THAT(sink_.status(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("first")));
}

TEST_F(HedgedStoreTest, AFinalAnswerOfOneIsTheAnswer) {
  Start();
  Wait(140);
  End(1, absl::FailedPreconditionError("the object changed"));
  EXPECT_THAT(sink_.status(), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_TRUE(cancelled(0));
  EXPECT_EQ(sink_.ends(), 1);
}

TEST_F(HedgedStoreTest, AWinnerThatFailsFailsWithTheRestMissing) {
  Start();
  Wait(140);
  Give(1, 500);
  End(1, absl::UnavailableError("reset"));
  EXPECT_THAT(sink_.status(), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_EQ(sink_.data(), HandStore::Bytes({10, 510}));
  Wait(1);  // The loser ends, and nobody hears of it.
  EXPECT_EQ(sink_.ends(), 1);
}

TEST_F(HedgedStoreTest, CancellationEndsBoth) {
  Start();
  Wait(140);
  ASSERT_EQ(sent(), 2u);
  cancellation_->Cancel();
  EXPECT_TRUE(cancelled(0));
  EXPECT_TRUE(cancelled(1));
  Wait(1);
  EXPECT_THAT(sink_.status(), StatusIs(absl::StatusCode::kCancelled, _));
  EXPECT_EQ(sink_.ends(), 1);
}

TEST_F(HedgedStoreTest, AStalledGetIsGivenUpAndItsConnectionWithIt) {
  GetRequest request = Request();
  request.if_match = "";  // It is not asked for twice.
  store_.Get(std::move(request), &sink_);
  Wait(35);
  Give(0, 400);
  Wait(1'450);
  EXPECT_FALSE(cancelled(0));
  Wait(100);
  EXPECT_TRUE(cancelled(0));
  EXPECT_THAT(sink_.status(), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("stalled")));
  EXPECT_TRUE(IsRetryable(sink_.status()));
  EXPECT_EQ(metrics_.stalled, 1u);
}

TEST_F(HedgedStoreTest, NothingIsAskedForTwiceBeyondTheRequestRate) {
  RequestGate closed(0.001, time_, metrics_);
  (void)closed.Admit();
  (void)closed.Admit();
  HedgedStore store(inner_, {.least_samples = 0}, closed, time_, time_, metrics_);
  store.Get(Request(), &sink_);
  Wait(300);
  EXPECT_EQ(sent(), 1u);
  EXPECT_EQ(metrics_.hedged, 0u);
  EXPECT_FALSE(sink_.done());
  Finish(0);
  ExpectWhole();
  store.Close();
}

TEST_F(HedgedStoreTest, AnOutageIsNotMadeWorse) {
  StartMany(64);
  Wait(500);
  EXPECT_EQ(sent(), 64u);  // All of them are slow.
}

TEST_F(HedgedStoreTest, TheTailOfManyIsHelped) {
  StartMany(64);
  Wait(35);
  for (size_t i = 3; i < 64; ++i) Finish(i);
  Wait(100);
  ASSERT_EQ(sent(), 67u);
  for (size_t i = 64; i < 67; ++i) Finish(i);
  for (const auto& sink : sinks_) EXPECT_EQ(sink->data(), HandStore::Bytes(kRange));
}

}  // namespace
}  // namespace bucketvol
