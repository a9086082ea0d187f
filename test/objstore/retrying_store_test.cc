#include "mounter/objstore/retrying_store.h"

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
using ::testing::HasSubstr;
using testing::RecordingSink;
using testing::StatusIs;

class RetryingStoreTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (store_) store_->Close();
    time_.RunUntilIdle();  // The destructor waits for what is in flight.
  }

  RetryingStoreTest() {
    inner_.Put("k", "0123456789", "E");
    settings_.first_contact_attempts = 0;
  }

  RetryingStore& store() {
    if (!store_)
      store_.emplace(
          inner_, settings_, time_, time_, [] { return 0.5; }, metrics_);
    return *store_;
  }

  // Has the next GETs fail after so many bytes each.
  void FailGets(std::vector<uint64_t> after_bytes, absl::Status status = absl::UnavailableError("reset")) {
    inner_.SetGetFault(
        [=, after_bytes = std::move(after_bytes), next = size_t{0}](const GetRequest&) mutable {
          if (next == after_bytes.size()) return std::optional<FakeObjectStore::GetFault>();
          return std::optional(FakeObjectStore::GetFault{status, after_bytes[next++]});
        });
  }
  void FailLists(int count, absl::Status status = absl::UnavailableError("reset")) {
    inner_.SetListFault(
        [=](const ListRequest&, ListPage&) mutable { return count-- > 0 ? status : absl::OkStatus(); });
  }

  void StartGet(ByteRange range = {0, 10}, std::string if_match = "E") {
    sink_.emplace();
    GetRequest request;
    request.key = "k";
    request.range = range;
    request.if_match = std::move(if_match);
    request.cancellation = cancellation_;
    store().Get(std::move(request), &*sink_);
  }
  absl::StatusOr<ListPage> List() {
    std::optional<absl::StatusOr<ListPage>> result;
    ListRequest request;
    request.cancellation = cancellation_;
    store().List(std::move(request), [&](absl::StatusOr<ListPage> page) { result = std::move(page); });
    time_.RunUntilIdle();
    return *std::move(result);
  }

  testing::VirtualTime time_;
  FakeObjectStore inner_{time_};
  RetrySettings settings_;
  StoreMetrics metrics_;
  const std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
  std::optional<RecordingSink> sink_;
  std::optional<RetryingStore> store_;  // Last: its destructor ends the calls.
};

TEST_F(RetryingStoreTest, AGetGoesOnAtTheFirstMissingByte) {
  FailGets({3, 0, 4});
  StartGet({1, 10});
  time_.RunUntilIdle();
  EXPECT_OK(sink_->status());
  EXPECT_EQ(sink_->data(), "123456789");
  std::vector<uint64_t> begins;
  for (const FakeRequest& request : inner_.Requests()) {
    begins.push_back(request.get.range.begin);
    EXPECT_EQ(request.get.range.end, 10u);
    EXPECT_EQ(request.get.if_match, "E");
  }
  EXPECT_EQ(begins, (std::vector<uint64_t>{1, 4, 4, 8}));
  EXPECT_EQ(metrics_.retries, 3u);
  EXPECT_EQ(metrics_.retries_unavailable, 3u);
}

TEST_F(RetryingStoreTest, NothingIsAskedAgainWhenAllBytesCame) {
  FailGets({10});
  StartGet();
  time_.RunUntilIdle();
  EXPECT_OK(sink_->status());
  EXPECT_EQ(sink_->data(), "0123456789");
  EXPECT_EQ(inner_.Count(FakeRequest::Op::kGet), 1u);
}

TEST_F(RetryingStoreTest, VersionsAreNotMixed) {
  inner_.SetGetFault([first = true](const GetRequest&) mutable {
    if (!std::exchange(first, false)) return std::optional<FakeObjectStore::GetFault>();
    return std::optional(FakeObjectStore::GetFault{absl::UnavailableError("reset"), 4});
  });
  StartGet({0, 10}, "E");
  inner_.SetObserver([this](const FakeRequest& request) {
    if (request.get.range.begin > 0) inner_.Put("k", "abcdefghij", "F");
  });
  time_.RunUntilIdle();
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_EQ(sink_->data(), "0123");
}

// A store that answers by hand, to see what OnVersion leads to.
class HandStore final : public ObjectStore {
 public:
  void List(ListRequest, ListCallback) override {}
  void Head(std::string, HeadCallback done) override { head_ = std::move(done); }
  void Get(GetRequest request, GetSink* sink) override {
    request_ = std::move(request);
    sink_ = sink;
  }
  GetRequest request_;
  GetSink* sink_ = nullptr;
  HeadCallback head_;
};

TEST_F(RetryingStoreTest, AResumedGetPinsTheVersionItBeganWith) {
  HandStore inner;
  RetryingStore store(
      inner, settings_, time_, time_, [] { return 0.0; }, metrics_);
  RecordingSink sink;
  GetRequest request;
  request.key = "k";
  request.range = {0, 10};
  store.Get(std::move(request), &sink);

  inner.sink_->OnVersion("V1");
  inner.sink_->OnDone(absl::UnavailableError("reset"));  // Not a byte yet: another version is as good.
  time_.RunUntilIdle();
  EXPECT_EQ(inner.request_.if_match, "");
  inner.sink_->OnVersion("V2");
  inner.sink_->OnData(absl::MakeConstSpan("0123", 4));
  inner.sink_->OnDone(absl::UnavailableError("reset"));
  time_.RunUntilIdle();
  EXPECT_EQ(inner.request_.if_match, "V2");
  EXPECT_EQ(inner.request_.range, (ByteRange{4, 10}));
  inner.sink_->OnData(absl::MakeConstSpan("456789", 6));
  inner.sink_->OnDone(absl::OkStatus());
  EXPECT_EQ(sink.data(), "0123456789");
}

TEST_F(RetryingStoreTest, ProgressGivesNewAttempts) {
  settings_.max_attempts = 2;
  FailGets({1, 1, 1, 1, 1, 1});
  StartGet();
  time_.RunUntilIdle();
  EXPECT_OK(sink_->status());
  EXPECT_EQ(sink_->data(), "0123456789");
}

TEST_F(RetryingStoreTest, GivesUpAfterTheLastAttempt) {
  settings_.max_attempts = 3;
  FailGets({2, 0, 0, 0, 0});
  StartGet();
  time_.RunUntilIdle();
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("reset")));
  EXPECT_EQ(sink_->ends(), 1);
  EXPECT_EQ(inner_.Count(FakeRequest::Op::kGet), 3u);
}

TEST_F(RetryingStoreTest, GivesUpWhenTheBudgetIsSpent) {
  settings_.max_attempts = 1'000;
  settings_.budget = absl::Seconds(30);
  FailLists(1'000);
  EXPECT_THAT(List(), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_LE(time_.Elapsed(), absl::Seconds(30));
  EXPECT_GT(time_.Elapsed(), absl::Seconds(10));
}

TEST_F(RetryingStoreTest, RepeatsListings) {
  FailLists(2, absl::DataLossError("cut"));
  ASSERT_OK_AND_ASSIGN(const ListPage page, List());
  EXPECT_EQ(page.objects.size(), 1u);
  EXPECT_EQ(metrics_.retries_bad_answer, 2u);
  EXPECT_EQ(time_.Elapsed(), absl::Milliseconds(50 + 100));
}

TEST_F(RetryingStoreTest, FinalErrorsAreGivenAtOnce) {
  FailLists(1, absl::PermissionDeniedError("no"));
  EXPECT_THAT(List(), StatusIs(absl::StatusCode::kPermissionDenied, _));
  EXPECT_EQ(metrics_.retries, 0u);
}

TEST_F(RetryingStoreTest, AnEndpointThatNeverAnsweredIsGivenUpSoon) {
  settings_.first_contact_attempts = 3;
  const absl::Status unreachable = MakeStoreStatus(absl::StatusCode::kUnavailable, "c", {.retryable = true});
  FailLists(5, unreachable);
  EXPECT_THAT(List(), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_EQ(inner_.Count(FakeRequest::Op::kList), 3u);
  FailLists(0);
  EXPECT_OK(List());
  FailLists(5, unreachable);
  EXPECT_OK(List());  // From now on it is an outage.
}

TEST_F(RetryingStoreTest, CancellationEndsTheWait) {
  settings_.first_delay = absl::Hours(1);
  settings_.longest_delay = absl::Hours(1);
  settings_.budget = absl::Hours(10);
  FailGets({5});
  StartGet();
  time_.Advance(absl::Seconds(1));
  EXPECT_FALSE(sink_->done());
  cancellation_->Cancel();
  time_.Advance(absl::ZeroDuration());
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kCancelled, _));
  EXPECT_EQ(inner_.Count(FakeRequest::Op::kGet), 1u);
}

TEST_F(RetryingStoreTest, TheDestructorEndsTheWait) {
  FailGets({5});
  StartGet();
  time_.Advance(absl::ZeroDuration());
  store_.reset();
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST_F(RetryingStoreTest, RepeatsHeads) {
  HandStore inner;
  RetryingStore store(
      inner, settings_, time_, time_, [] { return 0.0; }, metrics_);
  std::optional<absl::StatusOr<ObjectInfo>> info;
  store.Head("k", [&](absl::StatusOr<ObjectInfo> result) { info = std::move(result); });
  std::move(inner.head_)(absl::UnavailableError("reset"));
  EXPECT_FALSE(info.has_value());
  time_.RunUntilIdle();
  std::move(inner.head_)(ObjectInfo{.etag = "E", .size = 10});
  ASSERT_OK(*info);
  EXPECT_EQ((*info)->size, 10u);
  EXPECT_EQ(metrics_.retries, 1u);
}

}  // namespace
}  // namespace bucketvol
