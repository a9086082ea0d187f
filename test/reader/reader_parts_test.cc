#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/block.h"
#include "mounter/reader/memory_budget.h"
#include "mounter/reader/object_registry.h"
#include "mounter/reader/sequential_stream.h"
#include "mounter/reader/stale_objects.h"
#include "test/support/fake_clock.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(MemoryBudgetTest, CountsWhatIsReservedSplitAndGivenBack) {
  MemoryBudget budget(100);
  Reservation first;
  ASSERT_TRUE(budget.TryReserve(60, first));
  Reservation second;
  EXPECT_FALSE(budget.TryReserve(41, second));
  second = budget.ReserveBeyondLimit(50);
  EXPECT_EQ(budget.used(), 110u);
  Reservation part = first.Split(20);
  first.Reset();
  EXPECT_EQ(budget.used(), 70u);
  part = std::move(second);
  EXPECT_EQ(budget.used(), 50u);
  part.Reset();
  part.Reset();
  EXPECT_EQ(budget.used(), 0u);
}

TEST(BlockBufferTest, VerifiesThePiecesThatARangeTouches) {
  constexpr uint64_t kPiece = BlockBuffer::kChecksumBytes;
  BufferPool pool(kMiB, 1);
  BlockBuffer buffer(3 * kPiece + 100, pool.Get(3 * kPiece + 100), Reservation());
  const std::string data(1000, 'a');
  while (buffer.filled() < 3 * kPiece + 100) {
    buffer.Append(
        absl::MakeSpan(data).subspan(0, std::min<uint64_t>(1000, 3 * kPiece + 100 - buffer.filled())));
  }
  EXPECT_TRUE(buffer.Verify({0, 3 * kPiece + 100}));
  const_cast<char&>(buffer.bytes({0, 3 * kPiece})[2 * kPiece]) = 'b';
  EXPECT_TRUE(buffer.Verify({0, 2 * kPiece}));
  EXPECT_FALSE(buffer.Verify({2 * kPiece + 50, 2 * kPiece + 51}));
  EXPECT_TRUE(buffer.Verify({3 * kPiece, 3 * kPiece + 100}));
}

TEST(BufferPoolTest, GivesABufferOfItsSizeOutAgain) {
  BufferPool pool(kMiB, 1);
  BufferPool::Buffer first = pool.Get(kMiB);
  BufferPool::Buffer second = pool.Get(kMiB);
  const char* const where = first.get();
  first.reset();
  second.reset();  // One is kept.
  BufferPool::Buffer small = pool.Get(100);
  EXPECT_NE(small.get(), where);
  EXPECT_EQ(pool.Get(kMiB).get(), where);
}

TEST(SequentialStreamTest, DecidesAtTheThirdReadOrTheSecondFromTheBeginning) {
  SequentialStream middle;
  EXPECT_TRUE(middle.Note({50 * kMiB, 51 * kMiB}, 100 * kMiB, 8 * kMiB).empty());
  EXPECT_TRUE(middle.Note({51 * kMiB, 52 * kMiB}, 100 * kMiB, 8 * kMiB).empty());
  EXPECT_EQ(middle.Note({52 * kMiB, 53 * kMiB}, 100 * kMiB, 8 * kMiB), (ByteRange{53 * kMiB, 61 * kMiB}));
  SequentialStream beginning;
  EXPECT_TRUE(beginning.Note({0, kMiB}, 100 * kMiB, 8 * kMiB).empty());
  EXPECT_EQ(beginning.Note({kMiB, 2 * kMiB}, 100 * kMiB, 8 * kMiB), (ByteRange{2 * kMiB, 10 * kMiB}));
}

TEST(SequentialStreamTest, GoesOnInHalvesOfTheWindowToTheEndOfTheObject) {
  SequentialStream stream;
  std::vector<ByteRange> ahead;
  for (uint64_t at = 0; at < 20 * kMiB; at += kMiB) {
    const ByteRange range = stream.Note({at, at + kMiB}, 20 * kMiB, 8 * kMiB);
    if (!range.empty()) ahead.push_back(range);
  }
  EXPECT_THAT(ahead,
              ::testing::ElementsAre(ByteRange{2 * kMiB, 10 * kMiB}, ByteRange{10 * kMiB, 14 * kMiB},
                                     ByteRange{14 * kMiB, 18 * kMiB}, ByteRange{18 * kMiB, 20 * kMiB}));
}

TEST(SequentialStreamTest, ReadsThatOvertakeEachOtherAreOneStream) {
  SequentialStream stream;
  constexpr uint64_t kRead = 128 << 10;
  for (const uint64_t number : {0, 2, 1, 4, 3, 5}) {
    stream.Note({number * kRead, (number + 1) * kRead}, 100 * kMiB, 8 * kMiB);
  }
  EXPECT_TRUE(stream.sequential());
  stream.Note({60 * kMiB, 61 * kMiB}, 100 * kMiB, 8 * kMiB);
  EXPECT_FALSE(stream.sequential());
}

TEST(ObjectRegistryTest, GivesOneObjectPerVersionAndForgetsWhatNobodyHolds) {
  ObjectRegistry registry({.block_bytes = kMiB, .fetch_bytes = kMiB, .readahead_bytes = 0});
  std::shared_ptr<CachedObject> object = registry.Get({"key", "E1", 5});
  EXPECT_EQ(registry.Get({"key", "E1", 5}), object);
  EXPECT_NE(registry.Get({"key", "E2", 5}), object);
  EXPECT_EQ(registry.size(), 1u);
  object.reset();
  EXPECT_EQ(registry.size(), 0u);
}

TEST(ObjectRegistryTest, SurvivesObjectsThatComeAndGo) {
  ObjectRegistry registry({.block_bytes = kMiB, .fetch_bytes = kMiB, .readahead_bytes = 0});
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

}  // namespace
}  // namespace bucketvol
