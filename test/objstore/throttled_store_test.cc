#include "mounter/objstore/throttled_store.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "mounter/objstore/store_error.h"
#include "test/objstore/recording_sink.h"
#include "test/support/fake_object_store.h"
#include "test/support/status_matchers.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using ::testing::_;
using testing::FakeObjectStore;
using testing::FakeRequest;
using testing::RecordingSink;
using testing::StatusIs;

class ThrottledStoreTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (store_) store_->Close();
    time_.RunUntilIdle();  // The destructor waits for what is in flight.
  }

  ThrottledStoreTest() { inner_.Put("k", "0123456789", "E"); }

  ThrottledStore& store(double rate) {
    if (!store_) {
      gate_.emplace(rate, time_, metrics_);
      store_.emplace(inner_, *gate_, time_);
    }
    return *store_;
  }
  GetRequest Request() {
    GetRequest request;
    request.key = "k";
    request.range = {0, 10};
    request.cancellation = cancellation_;
    return request;
  }
  void StartLists(ThrottledStore& store, int count) {
    for (int i = 0; i < count; ++i) {
      store.List({}, [this](absl::StatusOr<ListPage> page) { results_.push_back(page.status()); });
    }
  }

  testing::VirtualTime time_;
  FakeObjectStore inner_{time_};
  StoreMetrics metrics_;
  const std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
  std::vector<absl::Status> results_;
  RecordingSink sink_;
  std::optional<RequestGate> gate_;
  std::optional<ThrottledStore> store_;
};

TEST_F(ThrottledStoreTest, WithoutALimitRequestsGoStraightThrough) {
  StartLists(store(0), 1'000);
  EXPECT_EQ(inner_.Count(FakeRequest::Op::kList), 1'000u);
  time_.RunUntilIdle();
  EXPECT_EQ(results_.size(), 1'000u);
}

TEST_F(ThrottledStoreTest, AllKindsOfRequestsShareTheRate) {
  ThrottledStore& limited = store(10);
  limited.Get(Request(), &sink_);
  StartLists(limited, 1);
  limited.Head("k", [this](absl::StatusOr<ObjectInfo> info) { results_.push_back(info.status()); });
  StartLists(limited, 7);
  EXPECT_EQ(inner_.Requests().size(), 2u);  // A tenth of a second's worth, and the one that is due.
  time_.Advance(absl::Milliseconds(450));
  EXPECT_EQ(inner_.Requests().size(), 6u);
  time_.RunUntilIdle();
  EXPECT_EQ(results_.size(), 9u);
  for (const absl::Status& status : results_) EXPECT_OK(status);
  EXPECT_EQ(sink_.data(), "0123456789");
}

TEST_F(ThrottledStoreTest, ThrottlingAnswersSlowItDown) {
  inner_.SetListFault([](const ListRequest&, ListPage&) {
    return MakeStoreStatus(absl::StatusCode::kResourceExhausted, "c",
                           {.retryable = true, .throttled = true, .congestion = Congestion::kRequestRate});
  });
  StartLists(store(0), 100);
  time_.Advance(absl::ZeroDuration());
  EXPECT_EQ(metrics_.throttled, 100u);
  StartLists(store(0), 10'000);
  const size_t begun = inner_.Count(FakeRequest::Op::kList);
  EXPECT_LT(begun, 1'000u);
  time_.Advance(absl::Seconds(1));
  EXPECT_LT(inner_.Count(FakeRequest::Op::kList), begun + 1'000);
}

TEST_F(ThrottledStoreTest, OtherErrorsDoNot) {
  inner_.SetListFault([](const ListRequest&, ListPage&) { return absl::UnavailableError("reset"); });
  StartLists(store(0), 100);
  time_.RunUntilIdle();
  StartLists(store(0), 100);
  EXPECT_EQ(inner_.Count(FakeRequest::Op::kList), 200u);
  EXPECT_EQ(metrics_.throttled, 0u);
}

TEST_F(ThrottledStoreTest, ALimitOfBandwidthIsNoLimitOfTheRate) {
  inner_.SetListFault([](const ListRequest&, ListPage&) {
    return MakeStoreStatus(absl::StatusCode::kResourceExhausted, "c",
                           {.retryable = true, .throttled = true, .congestion = Congestion::kBandwidth});
  });
  StartLists(store(0), 100);
  time_.RunUntilIdle();
  StartLists(store(0), 100);
  EXPECT_EQ(inner_.Count(FakeRequest::Op::kList), 200u);
  EXPECT_EQ(metrics_.throttled, 100u);
}

TEST_F(ThrottledStoreTest, CancellationEndsTheWait) {
  StartLists(store(0.001), 2);
  store_->Get(Request(), &sink_);
  cancellation_->Cancel();
  time_.Advance(absl::ZeroDuration());
  EXPECT_THAT(sink_.status(), StatusIs(absl::StatusCode::kCancelled, _));
  EXPECT_EQ(inner_.Count(FakeRequest::Op::kGet), 0u);
}

TEST_F(ThrottledStoreTest, TheDestructorEndsTheWait) {
  StartLists(store(0.001), 5);
  time_.Advance(absl::ZeroDuration());
  store_.reset();
  EXPECT_EQ(results_.size(), 5u);
  EXPECT_THAT(results_.back(), StatusIs(absl::StatusCode::kCancelled, _));
}

}  // namespace
}  // namespace bucketvol
