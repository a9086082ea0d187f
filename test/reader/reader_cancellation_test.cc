#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/reader.h"
#include "test/reader/manual_reader_test.h"
#include "test/reader/read_outcome.h"
#include "test/support/fake_object_store.h"
#include "test/support/status_matchers.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using testing::ContentOf;
using testing::FakeObject;
using testing::FakeObjectStore;
using ::testing::HasSubstr;
using testing::ManualReaderTest;
using testing::ReadOutcome;
using testing::StatusIs;
using testing::VirtualTime;

constexpr uint64_t kMiB = 1 << 20;
const ObjectId kSmall{"small", "E1", 100'000};
const ObjectId kLarge{"large", "E2", 64 * kMiB};

class ReaderCancellationTest : public ManualReaderTest {};

TEST_F(ReaderCancellationTest, CancelAnswersAtOnceAndGivesTheFetchUp) {
  const ReadContext context{std::make_shared<Cancellation>()};
  const ReadOutcome read(reader_, kSmall, {0, 10}, context);
  context.cancellation->Cancel();
  EXPECT_THAT(read.status(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("cancelled")));
  EXPECT_TRUE(store_.request(0).cancellation->cancelled());
  const ReadOutcome another(reader_, kSmall, {0, 10});  // Must not suffer from the cancelled fetch.
  store_.End(0, absl::CancelledError("by its Cancellation"));
  EXPECT_FALSE(another.done());
  store_.Complete(1);
  EXPECT_EQ(another.text(), ContentOf(kSmall, {0, 10}));
}

TEST_F(ReaderCancellationTest, CancelLeavesAFetchThatOthersNeed) {
  const ReadContext context{std::make_shared<Cancellation>()};
  const ReadOutcome cancelled(reader_, kSmall, {0, 10}, context);
  const ReadOutcome other(reader_, kSmall, {50'000, 60'000});
  context.cancellation->Cancel();
  EXPECT_FALSE(store_.request(0).cancellation->cancelled());
  store_.Complete(0);
  EXPECT_EQ(other.text(), ContentOf(kSmall, {50'000, 60'000}));
}

TEST_F(ReaderCancellationTest, CancelLeavesAFetchThatIsMostlyThere) {
  const ReadContext context{std::make_shared<Cancellation>()};
  const ReadOutcome cancelled(reader_, kSmall, {0, 100'000}, context);
  store_.Send(0, 60'000);
  context.cancellation->Cancel();
  EXPECT_FALSE(store_.request(0).cancellation->cancelled());
  store_.Complete(0);
  EXPECT_EQ(ReadOutcome(reader_, kSmall, {0, 10}).text(), ContentOf(kSmall, {0, 10}));
}

TEST_F(ReaderCancellationTest, CancelAfterTheEndDoesNothing) {
  const ReadContext context{std::make_shared<Cancellation>()};
  const ReadOutcome read(reader_, kSmall, {0, 10}, context);
  store_.Complete(0);
  context.cancellation->Cancel();
  EXPECT_EQ(read.text(), ContentOf(kSmall, {0, 10}));
}

TEST_F(ReaderCancellationTest, AReadThatBeginsCancelledIsCancelled) {
  const ReadContext context{std::make_shared<Cancellation>()};
  context.cancellation->Cancel();
  EXPECT_THAT(ReadOutcome(reader_, kSmall, {0, 10}, context).status(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("cancelled")));
}

TEST(ReaderShutdownTest, EndsEveryReadThatStillWaits) {
  VirtualTime time;
  FakeObjectStore store(time);
  store.Put(kLarge.key, FakeObject{.etag = kLarge.etag, .size = kLarge.size});
  store.Hold();
  time.RunInBackground();
  ReadMetrics metrics;
  std::vector<ReadOutcome> reads;
  {
    Reader reader(store, time, metrics, ReaderSettings{.memory_bytes = 2 * kMiB, .beyond_memory_bytes = 0});
    for (uint64_t i = 0; i < 8; ++i)
      reads.emplace_back(reader, kLarge, ByteRange{i * 3 * kMiB, i * 3 * kMiB + 1});
  }
  for (const ReadOutcome& read : reads) EXPECT_TRUE(absl::IsCancelled(read.status())) << read.status();
}

}  // namespace
}  // namespace bucketvol
