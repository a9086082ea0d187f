#include "mounter/objstore/metered_store.h"

#include "gtest/gtest.h"
#include "test/objstore/recording_sink.h"
#include "test/support/fake_object_store.h"
#include "test/support/status_matchers.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using testing::RecordingSink;

class MeteredStoreTest : public ::testing::Test {
 protected:
  MeteredStoreTest() { inner_.Put("k", "0123456789", "E"); }

  void Get(std::string key, RecordingSink& sink, std::shared_ptr<Cancellation> cancellation = nullptr) {
    GetRequest request;
    request.key = std::move(key);
    request.range = {0, 10};
    request.cancellation = std::move(cancellation);
    store_.Get(std::move(request), &sink);
  }

  testing::VirtualTime time_;
  testing::FakeObjectStore inner_{time_};
  StoreMetrics metrics_;
  MeteredStore store_{inner_, metrics_};
};

TEST_F(MeteredStoreTest, CountsBytesAndCallsUnderWay) {
  RecordingSink sink;
  Get("k", sink);
  uint64_t page_bytes = 0;
  store_.List({}, [&](absl::StatusOr<ListPage> page) { page_bytes = page->body_bytes; });
  store_.Head("k", [](absl::StatusOr<ObjectInfo>) {});
  EXPECT_EQ(metrics_.in_flight, 3);
  time_.RunUntilIdle();
  EXPECT_EQ(metrics_.in_flight, 0);
  EXPECT_EQ(metrics_.bytes_in, 10 + page_bytes);
  EXPECT_EQ(metrics_.errors, 0u);
  EXPECT_EQ(sink.data(), "0123456789");
}

TEST_F(MeteredStoreTest, CountsErrorsButNotWhatIsAbsentOrCancelled) {
  inner_.SetListFault([](const ListRequest&, ListPage&) { return absl::UnavailableError("reset"); });
  store_.List({}, [](absl::StatusOr<ListPage>) {});
  RecordingSink absent, cancelled;
  Get("absent", absent);
  const auto cancellation = std::make_shared<Cancellation>();
  inner_.Hold();
  Get("k", cancelled, cancellation);
  cancellation->Cancel();
  inner_.Release();
  time_.RunUntilIdle();
  EXPECT_TRUE(absl::IsNotFound(absent.status()));
  EXPECT_TRUE(absl::IsCancelled(cancelled.status()));
  EXPECT_EQ(metrics_.errors, 1u);
  EXPECT_EQ(metrics_.in_flight, 0);
}

}  // namespace
}  // namespace bucketvol
