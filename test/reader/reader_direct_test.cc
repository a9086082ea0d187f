#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/reader.h"
#include "test/reader/manual_reader_test.h"
#include "test/reader/read_outcome.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using testing::ContentOf;
using ::testing::ElementsAre;
using testing::ManualReaderTest;
using testing::ReadOutcome;

constexpr uint64_t kKiB = 1 << 10;
constexpr uint64_t kMiB = 1 << 20;
const ObjectId kSmall{"small.jpg", "E1", 100'000};
const ObjectId kLarge{"large.bin", "E2", 64 * kMiB};

/// Without prefetch and caching.
class ReaderDirectTest : public ManualReaderTest {
 protected:
  ReaderDirectTest() : ManualReaderTest({.caching = Caching::kOff}) {}
  void ReadAndForget(const ObjectId& object, ByteRange range) {
    const size_t before = store_.count();
    const ReadOutcome read(reader_, object, range);
    for (size_t get = before; get < store_.count(); ++get) store_.Complete(get);
    EXPECT_EQ(read.text(), ContentOf(object, range));
  }
};

// The block layer cuts the read of one file into several, which come one after the other or all at once.
TEST_F(ReaderDirectTest, AFileReadInPiecesCostsOneRequest) {
  for (uint64_t at = 0; at < kSmall.size; at += 4096)
    ReadAndForget(kSmall, {at, std::min(at + 4096, kSmall.size)});
  EXPECT_EQ(store_.count(), 1u);
  EXPECT_EQ(store_.request(0).range, (ByteRange{0, kSmall.size}));
}

TEST_F(ReaderDirectTest, PiecesInAnyOrderCostOneRequest) {
  const ReadOutcome tail(reader_, kSmall, {65'536, kSmall.size});
  const ReadOutcome head(reader_, kSmall, {0, 65'536});
  store_.Complete(0);
  EXPECT_EQ(tail.text(), ContentOf(kSmall, {65'536, kSmall.size}));
  EXPECT_EQ(head.text(), ContentOf(kSmall, {0, 65'536}));
  EXPECT_EQ(store_.count(), 1u);
}

TEST_F(ReaderDirectTest, TenReadersAtOnceCostOneRequest) {
  std::vector<ReadOutcome> reads;
  for (int i = 0; i < 10; ++i) reads.emplace_back(reader_, kSmall, ByteRange{0, kSmall.size});
  store_.Complete(0);
  for (const ReadOutcome& read : reads) EXPECT_EQ(read.text(), ContentOf(kSmall, {0, kSmall.size}));
  EXPECT_EQ(store_.count(), 1u);
}

TEST_F(ReaderDirectTest, NothingStaysOnceEveryByteWasDelivered) {
  ReadAndForget(kSmall, {0, 65'536});
  EXPECT_GT(reader_.memory().used, 0u);
  ReadAndForget(kSmall, {65'536, kSmall.size});
  EXPECT_EQ(reader_.memory().used, 0u);
  ReadAndForget(kSmall, {0, kSmall.size});
  EXPECT_EQ(store_.count(), 2u);
}

TEST_F(ReaderDirectTest, WhatIsNeverReadToItsEndLeavesAfterAWhile) {
  ReadAndForget(kSmall, {0, 4096});
  clock_.Advance(absl::Seconds(30));
  reader_.Tick();
  EXPECT_EQ(reader_.memory().used, 0u);
}

TEST_F(ReaderDirectTest, NothingIsFetchedAheadOfAStream) {
  for (uint64_t at = 0; at < 16 * kMiB; at += 512 * kKiB) ReadAndForget(kLarge, {at, at + 512 * kKiB});
  uint64_t asked = 0;
  for (size_t get = 0; get < store_.count(); ++get) asked += store_.request(get).range.size();
  EXPECT_EQ(asked, 16 * kMiB);
  EXPECT_EQ(reader_.memory().used, 0u);
}

}  // namespace
}  // namespace bucketvol
