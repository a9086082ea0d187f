#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/reader.h"
#include "test/cache/node_memory_rig.h"
#include "test/reader/manual_reader_test.h"
#include "test/reader/manual_store.h"
#include "test/reader/read_outcome.h"
#include "test/support/fake_clock.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using testing::ContentOf;
using testing::FakeClock;
using testing::ManualReaderTest;
using testing::ManualStore;
using testing::ReadOutcome;

constexpr uint64_t kMiB = 1 << 20;

ObjectId Object(int number, uint64_t size) { return {"object" + std::to_string(number), "E", size}; }

/// Eight objects of 1 MiB fit; what readers wait for may take two more.
class ReaderMemoryTest : public ManualReaderTest {
 protected:
  ReaderMemoryTest()
      : ManualReaderTest(
            {.bucket_url = "oss://b", .memory_bytes = 8 * kMiB, .beyond_memory_bytes = 2 * kMiB}) {}
  /// Reads one block of an object of its own; true if that cost a request.
  bool Costs(int number) {
    const size_t before = store_.count();
    const ReadOutcome read(reader_, Object(number, kMiB), {0, kMiB});
    if (store_.count() > before) store_.Complete(before);
    EXPECT_EQ(read.text(), ContentOf(Object(number, kMiB), {0, kMiB}));
    return store_.count() > before;
  }
  /// Reads it twice: what is read once only makes room first. True if the first time cost a request.
  bool CostsAndIsKept(int number) {
    const bool cost = Costs(number);
    EXPECT_FALSE(Costs(number));
    return cost;
  }
};

TEST_F(ReaderMemoryTest, KeepsWhatFitsAndEvictsTheRest) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(CostsAndIsKept(i));
    EXPECT_LE(reader_.memory().used, 8 * kMiB);
  }
  EXPECT_EQ(reader_.memory().used, 8 * kMiB);
  EXPECT_FALSE(Costs(19));
  EXPECT_TRUE(Costs(0));
}

TEST_F(ReaderMemoryTest, WhatIsReadAgainStaysLonger) {
  for (int i = 0; i < 8; ++i) CostsAndIsKept(i);
  Costs(100);  // Takes the marks of the first reads away, and the oldest block.
  EXPECT_FALSE(Costs(1));
  for (int i = 200; i < 206; ++i) CostsAndIsKept(i);
  EXPECT_FALSE(Costs(1));
  EXPECT_TRUE(Costs(2));
}

TEST_F(ReaderMemoryTest, AHundredObjectsReadOnceTakeHalfOfTheMemoryAtMost) {
  CostsAndIsKept(0);
  for (int i = 1; i < 100; ++i) {
    EXPECT_TRUE(Costs(i));
    EXPECT_LE(reader_.memory().used, 4 * kMiB);
  }
  EXPECT_FALSE(Costs(99));
  EXPECT_FALSE(Costs(0));
}

TEST_F(ReaderMemoryTest, LentBytesCountUntilTheyAreGivenBack) {
  ReadOutcome lent(reader_, Object(0, kMiB), {0, kMiB});
  store_.Complete(0);
  for (int i = 1; i < 20; ++i) Costs(i);  // Evicts the block of the first read.
  EXPECT_EQ(lent.text(), ContentOf(Object(0, kMiB), {0, kMiB}));
  for (int i = 1; i < 20; ++i) Costs(i);
  const uint64_t used = reader_.memory().used;
  lent.Forget();
  EXPECT_EQ(reader_.memory().used, used - kMiB);
}

TEST_F(ReaderMemoryTest, FetchesBeyondTheMemoryWaitButSomeAlwaysRun) {
  std::vector<ReadOutcome> reads;
  for (int i = 0; i < 20; ++i) reads.emplace_back(reader_, Object(i, kMiB), ByteRange{0, kMiB});
  EXPECT_EQ(store_.count(), 10u);
  for (size_t get = 0; get < 20; ++get) {
    ASSERT_GT(store_.count(), get);
    EXPECT_LE(reader_.memory().used, 10 * kMiB);
    store_.Complete(get);
    EXPECT_EQ(reads[get].text(), ContentOf(Object(static_cast<int>(get), kMiB), {0, kMiB}));
    reads[get].Forget();
  }
  EXPECT_LE(reader_.memory().used, 8 * kMiB);
}

TEST_F(ReaderMemoryTest, BytesThatAreNeverGivenBackDoNotStopOthers) {
  std::vector<ReadOutcome> hoarded;
  for (int i = 0; i < 30; ++i) {
    hoarded.emplace_back(reader_, Object(i, kMiB), ByteRange{0, kMiB});
    ASSERT_EQ(store_.count(), static_cast<size_t>(i) + 1);
    store_.Complete(static_cast<size_t>(i));
  }
  for (int i = 0; i < 30; ++i) EXPECT_OK(hoarded[static_cast<size_t>(i)].status());
}

TEST_F(ReaderMemoryTest, AWholeObjectIsFetchedOnlyWhereThereIsRoom) {
  const ReadOutcome first(reader_, Object(1, 4 * kMiB), {0, 100});
  const ReadOutcome second(reader_, Object(2, 4 * kMiB), {0, 100});
  EXPECT_EQ(store_.request(0).range, (ByteRange{0, 4 * kMiB}));
  EXPECT_EQ(store_.request(1).range, (ByteRange{0, 64 << 10}));
  store_.Complete(0);
  store_.Complete(1);
  const ReadOutcome third(reader_, Object(3, 4 * kMiB), {0, 100});
  EXPECT_EQ(store_.request(2).range, (ByteRange{0, 4 * kMiB})) << "what has arrived is no longer in flight";
}

TEST_F(ReaderMemoryTest, TheMemoryOfAFailedFetchGoesToTheNextInLine) {
  std::vector<ReadOutcome> reads;
  for (int i = 0; i < 11; ++i) reads.emplace_back(reader_, Object(i, kMiB), ByteRange{0, kMiB});
  ASSERT_EQ(store_.count(), 10u);
  store_.End(3, absl::UnavailableError("reset"));
  EXPECT_EQ(store_.count(), 11u);
}

TEST_F(ReaderMemoryTest, WhatIsFetchedAheadFillsTheMemoryOnceAndMakesRoomForReaders) {
  const ObjectId large = Object(100, 64 * kMiB);
  reader_.Prefetch(large, {0, 64 * kMiB});
  for (size_t get = 0; get < store_.count(); ++get) store_.Complete(get);
  const size_t before = store_.count();
  EXPECT_EQ(reader_.memory().used, 8 * kMiB);
  EXPECT_EQ(store_.request(before - 1).range.end, 8 * kMiB) << "bytes that nobody has read were dropped";

  std::vector<ReadOutcome> reads;
  for (int i = 0; i < 2; ++i) reads.emplace_back(reader_, Object(i, kMiB), ByteRange{0, kMiB});
  EXPECT_EQ(store_.count(), before + 2);
  EXPECT_EQ(reader_.memory().used, 10 * kMiB) << "two may exceed the memory before anything is given up";
  reads.emplace_back(reader_, Object(2, kMiB), ByteRange{0, kMiB});
  EXPECT_EQ(store_.count(), before + 3);
  EXPECT_EQ(reader_.memory().used, 8 * kMiB) << "then what would have been read last";
  const ReadOutcome first(reader_, large, {0, kMiB});
  EXPECT_EQ(first.text(), ContentOf(large, {0, kMiB}));
}

TEST_F(ReaderMemoryTest, WhatIsReadMakesRoomForWhatIsFetchedAhead) {
  const ObjectId large = Object(100, 16 * kMiB);
  reader_.Prefetch(large, {0, 16 * kMiB});
  for (size_t get = 0; get < store_.count(); ++get) store_.Complete(get);
  for (uint64_t at = 0; at < 16 * kMiB; at += kMiB) {
    const ReadOutcome read(reader_, large, {at, at + kMiB});
    for (size_t get = 0; get < store_.count(); ++get) {
      if (store_.InFlight(get)) store_.Complete(get);
    }
    EXPECT_EQ(read.text(), ContentOf(large, {at, at + kMiB}));
  }
  uint64_t fetched = 0;
  for (size_t get = 0; get < store_.count(); ++get) fetched += store_.request(get).range.size();
  EXPECT_EQ(fetched, 16 * kMiB);
}

TEST_F(ReaderMemoryTest, TheWindowOfAStreamLeavesAQuarterOfTheMemory) {
  const ObjectId large = Object(100, 256 * kMiB);
  uint64_t farthest = 0;
  size_t seen = 0;
  for (uint64_t at = 0; at < 40 * kMiB; at += kMiB) {
    const ReadOutcome read(reader_, large, {at, at + kMiB});
    for (; seen < store_.count(); ++seen) {
      farthest = std::max(farthest, store_.request(seen).range.end - at);
      clock_.Advance(absl::Milliseconds(20));
      store_.Complete(seen);
    }
    ASSERT_EQ(read.text(), ContentOf(large, {at, at + kMiB}));
  }
  EXPECT_GT(farthest, 5 * kMiB);
  EXPECT_LE(farthest, 6 * kMiB + kMiB) << "beyond what is being read";
}

TEST_F(ReaderMemoryTest, AReaderNeverWaitsBehindWhatIsFetchedAhead) {
  reader_.Prefetch(Object(100, 64 * kMiB), {0, 64 * kMiB});
  const size_t before = store_.count();
  const ReadOutcome read(reader_, Object(1, kMiB), {0, kMiB});
  ASSERT_EQ(store_.count(), before + 1) << "all memory is in flight: this one runs beyond it";
  store_.Complete(before);
  EXPECT_EQ(read.text(), ContentOf(Object(1, kMiB), {0, kMiB}));
}

// Not even where there is memory for that and not for the reader.
TEST_F(ReaderMemoryTest, NothingIsFetchedAheadWhileAReaderWaitsForMemory) {
  std::vector<ReadOutcome> reads;
  for (int i = 0; i < 7; ++i) reads.emplace_back(reader_, Object(i, kMiB), ByteRange{0, kMiB});
  const ReadOutcome waiting(reader_, Object(100, 64 * kMiB), {32 * kMiB, 36 * kMiB});
  ASSERT_EQ(store_.count(), 7u) << "7 MiB and 4 are more than 8 and 2";
  reader_.Prefetch(Object(50, 1000), {0, 1000});
  EXPECT_EQ(store_.count(), 7u);
  for (size_t get = 0; get < 3; ++get) {
    store_.Complete(get);
    reads[get].Forget();
  }
  ASSERT_GE(store_.count(), 8u);
  EXPECT_EQ(store_.request(7).range.begin, 32 * kMiB);
}

TEST_F(ReaderMemoryTest, WhatAStreamLeftBehindIsNotFetchedWhenThereIsMemoryAgain) {
  std::vector<ReadOutcome> reads;
  for (int i = 0; i < 8; ++i) reads.emplace_back(reader_, Object(i, kMiB), ByteRange{0, kMiB});
  const ReadOutcome stream(reader_, Object(100, 64 * kMiB), {0, kMiB});
  const size_t sent = store_.count();
  ASSERT_LE(sent, 10u) << "there is no memory for what is ahead of it";
  clock_.Advance(absl::Seconds(10));
  reader_.Tick();
  for (size_t get = 0; get < sent; ++get) store_.Complete(get);
  reads.clear();
  reader_.Tick();
  EXPECT_EQ(store_.count(), sent);
}

TEST_F(ReaderMemoryTest, WhatIsQueuedGoesOnWhenIdleMemoryIsGivenBack) {
  reader_.Prefetch(Object(100, 64 * kMiB), {0, 64 * kMiB});
  for (size_t get = 0; get < store_.count(); ++get) store_.Complete(get);
  const size_t before = store_.count();
  clock_.Advance(absl::Seconds(61));  // Nobody has read it.
  reader_.Tick();
  EXPECT_GT(store_.count(), before);
}

// Without a look in between: what lies ahead of the old place would only delay what is read now.
TEST_F(ReaderMemoryTest, AReaderThatGoesElsewhereGivesUpWhatWasOnItsWay) {
  FakeClock clock;
  Reader reader(store_, clock, metrics_, ReaderSettings{.bucket_url = "oss://b"});
  const ObjectId large = Object(100, 256 * kMiB);
  const ReadOutcome before(reader, large, {0, kMiB});
  const size_t ahead = store_.count();
  ASSERT_GT(ahead, 1u);
  store_.Complete(0);
  clock.Advance(absl::Seconds(2));
  std::vector<ReadOutcome> reads;
  for (uint64_t at = 128 * kMiB; at < 131 * kMiB; at += kMiB)
    reads.emplace_back(reader, large, ByteRange{at, at + kMiB});
  for (size_t get = 1; get < ahead; ++get) EXPECT_TRUE(store_.request(get).cancellation->cancelled()) << get;
  for (size_t get = ahead; get < store_.count(); ++get)
    EXPECT_FALSE(store_.request(get).cancellation->cancelled()) << get;
  store_.CancelAll();
}

TEST_F(ReaderMemoryTest, AllMemoryIsGivenBackWhenNobodyReads) {
  for (int i = 0; i < 4; ++i) CostsAndIsKept(i);
  reader_.Prefetch(Object(100, 64 * kMiB), {0, 2 * kMiB});
  for (size_t get = 0; get < store_.count(); ++get) {
    if (store_.InFlight(get)) store_.Complete(get);
  }
  clock_.Advance(absl::Seconds(8));
  reader_.Tick();
  EXPECT_EQ(reader_.memory().used, 6 * kMiB);
  for (int second = 0; second < 75; ++second) {
    clock_.Advance(absl::Seconds(1));
    reader_.Tick();
  }
  EXPECT_EQ(reader_.memory().used, 0u);
  EXPECT_EQ(reader_.memory().mapped, 0u);
}

TEST_F(ReaderMemoryTest, WithALookEachSecondIdleMemoryIsGivenBackWithinTen) {
  const ObjectId large = Object(100, 64 * kMiB);
  { const ReadOutcome read(reader_, large, {0, kMiB}); }
  for (size_t get = 0; get < store_.count(); ++get) store_.Complete(get);
  EXPECT_GT(reader_.memory().used, kMiB) << "some of it is ahead";
  clock_.Advance(absl::Milliseconds(500));
  for (int second = 0; second < 9; ++second) {
    reader_.Tick();
    clock_.Advance(absl::Seconds(1));
  }
  reader_.Tick();
  EXPECT_EQ(reader_.memory().used, 0u) << "9.5 s after the read";
}

TEST_F(ReaderMemoryTest, AFailedOrCancelledFetchGivesItsMemoryBack) {
  const ReadContext context{std::make_shared<Cancellation>()};
  const ReadOutcome failed(reader_, Object(0, kMiB), {0, kMiB});
  const ReadOutcome cancelled(reader_, Object(1, kMiB), {0, kMiB}, context);
  context.cancellation->Cancel();
  store_.Send(0, 1000);
  store_.End(0, absl::UnavailableError("reset"));
  store_.End(1, absl::CancelledError("cancelled"));
  EXPECT_EQ(reader_.memory().used, 0u);
  EXPECT_EQ(reader_.fetches_in_flight(), 0u);
}

TEST(ReaderTinyMemoryTest, AReadLargerThanTheMemoryIsServed) {
  ManualStore store;
  FakeClock clock;
  ReadMetrics metrics;
  Reader reader(store, clock, metrics, ReaderSettings{.memory_bytes = 1, .beyond_memory_bytes = 0});
  const ObjectId object = Object(0, 64 * kMiB);
  const ByteRange range{3 * kMiB + 1, 30 * kMiB};
  ReadOutcome read(reader, object, range);
  for (size_t get = 0; get < store.count(); ++get) store.Complete(get);
  EXPECT_EQ(read.text(), ContentOf(object, range));
  read.Forget();
  EXPECT_EQ(reader.memory().used, 0u);
}

/// A reader with a budget of 16 objects, on a node that has room for eight.
class ReaderOfANodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ledger_, rig_.Map());
    const NodeShareSettings node{.total_bytes = 8 * kMiB, .floor_bytes = 2 * kMiB};
    share_.emplace(*ledger_, node);
    other_.emplace(*ledger_, node);
    reader_.emplace(
        store_, clock_, metrics_,
        ReaderSettings{.bucket_url = "oss://b", .memory_bytes = 16 * kMiB, .beyond_memory_bytes = 2 * kMiB},
        ReaderHelpers{.node = &*share_});
  }
  void TearDown() override {
    store_.CancelAll();
    reader_.reset();
    share_.reset();
    EXPECT_EQ(ledger_->Look(0, {}).bytes, 0u);
  }
  /// Reads an object twice, so that it is kept.
  void Read(int number) {
    for (int round = 0; round < 2; ++round) {
      const size_t before = store_.count();
      const ReadOutcome read(*reader_, Object(number, kMiB), {0, kMiB});
      if (store_.count() > before) store_.Complete(before);
      EXPECT_EQ(read.text(), ContentOf(Object(number, kMiB), {0, kMiB}));
    }
  }

  testing::NodeMemoryRig rig_;
  std::unique_ptr<NodeLedger> ledger_;
  std::optional<NodeShare> share_;
  std::optional<NodeShare> other_;
  ManualStore store_;
  FakeClock clock_;
  ReadMetrics metrics_;
  std::optional<Reader> reader_;
};

TEST_F(ReaderOfANodeTest, KeepsWhatTheNodeHasAndGivesBackWhatAnotherOneWants) {
  for (int i = 0; i < 20; ++i) {
    Read(i);
    EXPECT_LE(reader_->memory().used, 8 * kMiB);
  }
  EXPECT_EQ(reader_->memory().used, 8 * kMiB);
  EXPECT_EQ(reader_->memory().limit, 16 * kMiB);
  ASSERT_TRUE(other_->Grow(2 * kMiB));
  ASSERT_FALSE(other_->Grow(4 * kMiB));
  reader_->Tick();
  EXPECT_EQ(reader_->memory().used, 4 * kMiB);
  EXPECT_TRUE(other_->Grow(4 * kMiB));
  for (int i = 20; i < 40; ++i) {
    Read(i);
    EXPECT_LE(reader_->memory().used, 4 * kMiB);
  }
  EXPECT_LE(other_->used_by_all(), 8 * kMiB);
  other_.reset();
  reader_->Tick();
  for (int i = 0; i < 8; ++i) Read(i);
  EXPECT_EQ(reader_->memory().used, 8 * kMiB);
}

}  // namespace
}  // namespace bucketvol
