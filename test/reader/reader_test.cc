#include "mounter/reader/reader.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/reader/manual_reader_test.h"
#include "test/reader/read_outcome.h"
#include "test/support/fake_object_store.h"
#include "test/support/status_matchers.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using testing::ContentOf;
using ::testing::ElementsAre;
using testing::FakeObject;
using testing::FakeObjectStore;
using testing::FakeRequest;
using ::testing::HasSubstr;
using testing::ManualReaderTest;
using testing::ReadOutcome;
using testing::StatusIs;
using testing::VirtualTime;

constexpr uint64_t kKiB = 1 << 10;
constexpr uint64_t kMiB = 1 << 20;
const ObjectId kSmall{"dir/small.jpg", "E1", 100'556};
const ObjectId kLarge{"model.bin", "E2", 100 * kMiB + 17};

/// A reader over a store that answers by itself as soon as the test lets it.
class ReaderTest : public ::testing::Test {
 protected:
  ReaderTest() {
    for (const ObjectId& object : {kSmall, kLarge}) {
      store_.Put(object.key, FakeObject{.etag = object.etag, .size = object.size});
    }
  }
  ReadOutcome Read(const ObjectId& object, ByteRange range) {
    ReadOutcome outcome(reader_, object, range);
    time_.RunUntilIdle();
    return outcome;
  }
  size_t Gets() const { return store_.Count(FakeRequest::Op::kGet); }
  std::vector<ByteRange> Ranges() const {
    std::vector<ByteRange> ranges;
    for (const FakeRequest& request : store_.Requests()) ranges.push_back(request.get.range);
    return ranges;
  }

  VirtualTime time_;
  FakeObjectStore store_{time_};
  ReadMetrics metrics_;
  Reader reader_{store_, time_, metrics_, ReaderSettings{.bucket_url = "oss://b"}};
};

TEST_F(ReaderTest, ASmallObjectCostsOneRequestHoweverItIsRead) {
  for (const ByteRange range :
       {ByteRange{0, 4096}, {4096, 65'536}, {65'536, 100'556}, {0, 100'556}, {7, 8}}) {
    EXPECT_EQ(Read(kSmall, range).text(), ContentOf(kSmall, range));
  }
  EXPECT_THAT(Ranges(), ElementsAre(ByteRange{0, kSmall.size}));
  EXPECT_EQ(metrics_.from_store, 4096u);
  EXPECT_EQ(metrics_.from_memory, 61'440u + 35'020u + 100'556u + 1u);
}

TEST_F(ReaderTest, EveryRequestNamesTheVersion) {
  Read(kSmall, {0, 1});
  const GetRequest request = store_.Requests().at(0).get;
  EXPECT_EQ(request.key, kSmall.key);
  EXPECT_EQ(request.if_match, kSmall.etag);
  EXPECT_EQ(request.object_size, kSmall.size);
}

TEST_F(ReaderTest, ASmallReadOfALargeObjectFetchesItsQuarterOfAMegabyte) {
  EXPECT_EQ(Read(kLarge, {5 * kMiB + 10, 5 * kMiB + 20}).text(),
            ContentOf(kLarge, {5 * kMiB + 10, 5 * kMiB + 20}));
  EXPECT_EQ(Read(kLarge, {100 * kMiB + 1, kLarge.size}).text(),
            ContentOf(kLarge, {100 * kMiB + 1, kLarge.size}));
  EXPECT_THAT(Ranges(),
              ElementsAre(ByteRange{5 * kMiB, 5 * kMiB + 256 * kKiB}, ByteRange{100 * kMiB, kLarge.size}));
}

TEST_F(ReaderTest, NeighbouringBlocksAreOneRequestUpToTheLongest) {
  const ByteRange range{20 * kMiB + 1, 31 * kMiB};
  EXPECT_EQ(Read(kLarge, range).text(), ContentOf(kLarge, range));
  EXPECT_THAT(Ranges(), ElementsAre(ByteRange{20 * kMiB, 28 * kMiB}, ByteRange{28 * kMiB, 31 * kMiB}));
}

TEST_F(ReaderTest, OnlyWhatIsAbsentIsFetched) {
  Read(kLarge, {41 * kMiB, 43 * kMiB});
  Read(kLarge, {60 * kMiB, 61 * kMiB});
  const ByteRange range{40 * kMiB, 44 * kMiB};
  EXPECT_EQ(Read(kLarge, range).text(), ContentOf(kLarge, range));
  const std::vector<ByteRange> ranges = Ranges();
  ASSERT_GE(ranges.size(), 4u);
  EXPECT_EQ(ranges[2], (ByteRange{40 * kMiB, 41 * kMiB}));
  EXPECT_EQ(ranges[3], (ByteRange{43 * kMiB, 44 * kMiB}));
}

TEST_F(ReaderTest, AGapThatCostsLessThanARequestIsReadThrough) {
  Read(kLarge, {41 * kMiB, 42 * kMiB});
  Read(kLarge, {60 * kMiB, 61 * kMiB});
  const ByteRange range{40 * kMiB, 43 * kMiB};
  const ReadOutcome read = Read(kLarge, range);
  EXPECT_EQ(read.text(), ContentOf(kLarge, range));
  EXPECT_EQ(Ranges().at(2), range);
  EXPECT_EQ(read.data().origin.memory, kMiB);
  EXPECT_EQ(read.data().origin.store, 2 * kMiB);
  const size_t before = Gets();
  EXPECT_EQ(Read(kLarge, range).text(), ContentOf(kLarge, range));
  EXPECT_EQ(Gets(), before);
}

TEST_F(ReaderTest, TheBytesTellWhereTheyCameFrom) {
  Read(kLarge, {10 * kMiB, 11 * kMiB});
  const ReadOutcome read = Read(kLarge, {10 * kMiB + 100, 12 * kMiB});
  EXPECT_EQ(read.data().origin.memory, kMiB - 100);
  EXPECT_EQ(read.data().origin.store, kMiB);
}

TEST_F(ReaderTest, TheEdgesOfAnObject) {
  EXPECT_EQ(Read(kSmall, {50, 50}).text(), "");
  EXPECT_EQ(Read(kSmall, {kSmall.size, kSmall.size}).text(), "");
  EXPECT_EQ(Gets(), 0u);
  EXPECT_THAT(Read(kSmall, {kSmall.size, kSmall.size + 1}).status(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("oss://b/dir/small.jpg")));
}

TEST_F(ReaderTest, TenReadersOfAnAbsentBlockCostOneRequest) {
  store_.Hold();
  std::vector<ReadOutcome> reads;
  for (uint64_t i = 0; i < 10; ++i)
    reads.push_back(Read(kLarge, {70 * kMiB + i * 1000, 70 * kMiB + i * 1000 + 500}));
  EXPECT_EQ(Gets(), 1u);
  for (const ReadOutcome& read : reads) EXPECT_FALSE(read.done());
  store_.Release();
  time_.RunUntilIdle();
  for (uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(reads[i].text(), ContentOf(kLarge, {70 * kMiB + i * 1000, 70 * kMiB + i * 1000 + 500}));
  }
  EXPECT_EQ(Gets(), 1u);
}

TEST_F(ReaderTest, AnotherVersionIsAnotherObject) {
  const std::string before = Read(kSmall, {0, 100}).text();
  const ObjectId changed{kSmall.key, "E9", 200};
  store_.Put(kSmall.key, std::string(200, 'x'), "E9");
  EXPECT_EQ(Read(changed, {0, 200}).text(), std::string(200, 'x'));
  EXPECT_EQ(Read(kSmall, {0, 100}).text(), before);
}

TEST_F(ReaderTest, ASequentialReaderIsServedFromAhead) {
  for (uint64_t at = 0; at < 64 * kMiB; at += 128 * kKiB) {
    EXPECT_EQ(Read(kLarge, {at, at + 128 * kKiB}).text(), ContentOf(kLarge, {at, at + 128 * kKiB}));
  }
  EXPECT_EQ(metrics_.streams, 1u);
  EXPECT_GT(metrics_.from_memory, 60 * kMiB);
}

TEST_F(ReaderTest, FetchesNothingBehindTheEndOfASequentialReader) {
  for (uint64_t at = 96 * kMiB; at < kLarge.size; at += kMiB)
    Read(kLarge, {at, std::min(at + kMiB, kLarge.size)});
  uint64_t fetched = 0;
  for (const ByteRange& range : Ranges()) fetched += range.size();
  EXPECT_EQ(fetched, kLarge.size - 96 * kMiB);
}

TEST_F(ReaderTest, RandomReadsFetchNothingAhead) {
  for (const uint64_t at : {50, 10, 90, 30, 70, 20}) Read(kLarge, {at * kMiB, at * kMiB + 4096});
  for (const ByteRange& range : Ranges()) EXPECT_EQ(range.size(), 256 * kKiB);
  EXPECT_EQ(metrics_.streams, 0u);
}

TEST_F(ReaderTest, PrefetchFetchesWithoutAReaderAndOnce) {
  reader_.Prefetch(kLarge, {30 * kMiB + 5, 33 * kMiB - 5});
  reader_.Prefetch(kLarge, {100 * kMiB, 200 * kMiB});
  reader_.Prefetch(kLarge, {31 * kMiB, 32 * kMiB});
  time_.RunUntilIdle();
  EXPECT_EQ(Read(kLarge, {31 * kMiB, 32 * kMiB}).data().origin.memory, kMiB);
  EXPECT_THAT(Ranges(), ElementsAre(ByteRange{30 * kMiB, 33 * kMiB}, ByteRange{100 * kMiB, kLarge.size}));
}

/// A reader over a store whose GETs the test sends piece by piece.
class ReaderPiecesTest : public ManualReaderTest {};

TEST_F(ReaderPiecesTest, AReaderWakesWhenItsBytesAreThere) {
  const ReadOutcome head(reader_, kSmall, {0, 4096});
  const ReadOutcome middle(reader_, kSmall, {4096, 20'000});
  store_.Send(0, 4095);
  EXPECT_FALSE(head.done());
  store_.Send(0, 1);
  EXPECT_EQ(head.text(), ContentOf(kSmall, {0, 4096}));
  EXPECT_FALSE(middle.done());
  store_.Send(0, 20'000);
  EXPECT_EQ(middle.text(), ContentOf(kSmall, {4096, 20'000}));
  const ReadOutcome late(reader_, kSmall, {10'000, 24'000});  // Its bytes came before it.
  EXPECT_EQ(late.text(), ContentOf(kSmall, {10'000, 24'000}));
  store_.Complete(0);
  EXPECT_EQ(store_.count(), 1u);
}

TEST_F(ReaderPiecesTest, SeveralRequestsAreInFlightAndEndInAnyOrder) {
  const ByteRange range{0, 24 * kMiB};
  const ReadOutcome read(reader_, kLarge, range);
  ASSERT_GE(store_.count(), 3u);
  EXPECT_EQ(reader_.fetches_in_flight(), store_.count());
  for (size_t get = store_.count(); get-- > 0;) store_.Complete(get);
  EXPECT_EQ(read.text(), ContentOf(kLarge, range));
}

TEST_F(ReaderPiecesTest, DataMayComeInPiecesThatCrossBlocks) {
  const ByteRange range{8 * kMiB, 11 * kMiB};
  const ReadOutcome read(reader_, kLarge, range);
  while (store_.Remaining(0) > 0) store_.Send(0, std::min<uint64_t>(store_.Remaining(0), 700'001));
  EXPECT_EQ(read.text(), ContentOf(kLarge, range));
  store_.End(0, absl::OkStatus());
}

TEST_F(ReaderPiecesTest, ReadersWakeOnBothSidesOfAGap) {
  const ReadOutcome hole(reader_, kLarge, {8 * kMiB, 9 * kMiB});
  store_.Complete(0);
  const ByteRange range{7 * kMiB, 10 * kMiB};
  const ReadOutcome read(reader_, kLarge, range);
  ASSERT_EQ(store_.request(1).range, range);
  const ReadOutcome before(reader_, kLarge, {8 * kMiB - 100, 8 * kMiB + 100});
  const ReadOutcome behind(reader_, kLarge, {9 * kMiB - 100, 9 * kMiB + 100});
  store_.Send(1, kMiB);
  EXPECT_EQ(before.text(), ContentOf(kLarge, {8 * kMiB - 100, 8 * kMiB + 100}));
  store_.Send(1, 700'001);
  store_.Send(1, kMiB - 700'001 + 99);
  EXPECT_FALSE(behind.done());
  store_.Send(1, 1);
  EXPECT_EQ(behind.text(), ContentOf(kLarge, {9 * kMiB - 100, 9 * kMiB + 100}));
  store_.Complete(1);
  EXPECT_EQ(read.text(), ContentOf(kLarge, range));
}

TEST_F(ReaderPiecesTest, WhatIsStillComingIsNotAskedForAgain) {
  const ReadOutcome hole(reader_, kLarge, {8 * kMiB, 9 * kMiB});
  store_.Send(0, kMiB - 1);
  const ByteRange range{7 * kMiB, 10 * kMiB};
  const ReadOutcome read(reader_, kLarge, range);
  EXPECT_EQ(store_.request(1).range, (ByteRange{7 * kMiB, 8 * kMiB}));
  EXPECT_EQ(store_.request(2).range, (ByteRange{9 * kMiB, 10 * kMiB}));
  for (size_t get = 0; get < 3; ++get) store_.Complete(get);
  EXPECT_EQ(read.text(), ContentOf(kLarge, range));
}

TEST_F(ReaderPiecesTest, AGapCountsNeitherAsComeNorAsComing) {
  const ReadOutcome hole(reader_, kLarge, {8 * kMiB, 9 * kMiB});
  store_.Complete(0);
  const auto cancelled = [&](uint64_t sent) {
    const ReadContext context{std::make_shared<Cancellation>()};
    const ReadOutcome read(reader_, kLarge, {8 * kMiB - 64 * kKiB, 9 * kMiB + 64 * kKiB}, context);
    const size_t get = store_.count() - 1;
    EXPECT_EQ(store_.request(get).range, (ByteRange{8 * kMiB - 64 * kKiB, 9 * kMiB + 64 * kKiB}));
    store_.Send(get, sent);
    context.cancellation->Cancel();
    const bool given_up = store_.request(get).cancellation->cancelled();
    store_.End(get, absl::CancelledError("by its Cancellation"));
    return given_up;
  };
  EXPECT_TRUE(cancelled(64 * kKiB - 1));
  EXPECT_FALSE(cancelled(64 * kKiB)) << "half of what it is for is there";
}

TEST_F(ReaderPiecesTest, AReaderJoinsAPrefetchInFlight) {
  reader_.Prefetch(kLarge, {16 * kMiB, 20 * kMiB});
  const ReadOutcome read(reader_, kLarge, {18 * kMiB, 19 * kMiB});
  EXPECT_EQ(store_.count(), 1u);
  store_.Complete(0);
  EXPECT_EQ(read.text(), ContentOf(kLarge, {18 * kMiB, 19 * kMiB}));
}

TEST_F(ReaderPiecesTest, TheStoreKnowsWhatAReaderWaitsFor) {
  reader_.Prefetch(kLarge, {16 * kMiB, 20 * kMiB});
  EXPECT_EQ(store_.request(0).CurrentPurpose(), GetPurpose::kPrefetch);
  const ReadOutcome other(reader_, kLarge, {50 * kMiB, 51 * kMiB});
  EXPECT_EQ(store_.request(1).CurrentPurpose(), GetPurpose::kDemand);
  EXPECT_EQ(store_.request(0).CurrentPurpose(), GetPurpose::kPrefetch);
  const ReadOutcome read(reader_, kLarge, {18 * kMiB, 19 * kMiB});
  EXPECT_EQ(store_.count(), 2u);
  EXPECT_EQ(store_.request(0).CurrentPurpose(), GetPurpose::kDemand);
}

TEST_F(ReaderPiecesTest, OnlyLargeAnswersWhoseBytesJustCameAreLeftToTheExecutor) {
  VirtualTime replies;
  Reader reader(store_, clock_, metrics_, ReaderSettings{.bucket_url = "oss://b"}, {.replies = &replies});
  const ByteRange range{8 * kMiB, 8 * kMiB + 256 * kKiB};
  const ReadOutcome large(reader, kLarge, range);
  store_.Complete(0);
  EXPECT_FALSE(large.done()) << "written by the thread of the store, which shall go on reading";
  replies.RunUntilIdle();
  EXPECT_EQ(large.text(), ContentOf(kLarge, range));
  EXPECT_TRUE(ReadOutcome(reader, kLarge, range).done()) << "what is in memory is answered at once";
  const ReadOutcome less(reader, kLarge, {50 * kMiB, 50 * kMiB + 256 * kKiB - 1});
  store_.Complete(1);
  EXPECT_TRUE(less.done());
}

/// The link has answered eight reads of 256 KiB: 16 ms to the first byte, then 50 MB/s.
class ReaderKnownLinkTest : public ReaderPiecesTest {
 protected:
  ReaderKnownLinkTest() {
    for (uint64_t i = 0; i < 8; ++i) {
      const uint64_t begin = (4 + i * i + 2 * i) * kMiB;  // At unequal distances: no stride.
      const ReadOutcome read(reader_, kLarge, {begin, begin + 256 * kKiB});
      Answer(i);
    }
  }
  void Answer(size_t get) {
    clock_.Advance(absl::Milliseconds(16));
    const double bytes = static_cast<double>(store_.Remaining(get));
    store_.Send(get, 1);
    clock_.Advance(absl::Seconds(bytes / 50e6));
    store_.Complete(get);
  }
  /// Ranges of the GETs since.
  std::vector<ByteRange> Ranges() const {
    std::vector<ByteRange> ranges;
    for (size_t get = 8; get < store_.count(); ++get) ranges.push_back(store_.request(get).range);
    return ranges;
  }
};

TEST_F(ReaderKnownLinkTest, ALoneReadIsCutAsFarAsThatSavesATenthOfTheTime) {
  const ReadOutcome quarter(reader_, kLarge, {50 * kMiB, 50 * kMiB + 256 * kKiB});
  EXPECT_THAT(Ranges(), ElementsAre(ByteRange{50 * kMiB, 50 * kMiB + 128 * kKiB},
                                    ByteRange{50 * kMiB + 128 * kKiB, 50 * kMiB + 256 * kKiB}));
  const ReadOutcome whole(reader_, kLarge, {60 * kMiB, 61 * kMiB});
  EXPECT_EQ(store_.count(), 8u + 2 + 4);
  for (size_t get = store_.count(); get-- > 8;) store_.Complete(get);
  EXPECT_EQ(whole.text(), ContentOf(kLarge, {60 * kMiB, 61 * kMiB}));
}

TEST_F(ReaderKnownLinkTest, AReadIsNotCutWhileTheLinkIsBusy) {
  reader_.Prefetch(kLarge, {70 * kMiB, 73 * kMiB});
  const ReadOutcome read(reader_, kLarge, {50 * kMiB, 51 * kMiB});
  EXPECT_THAT(Ranges(), ElementsAre(ByteRange{70 * kMiB, 73 * kMiB}, ByteRange{50 * kMiB, 51 * kMiB}));
}

// In the time that a request waits for its first byte 800,000 bytes come.
TEST_F(ReaderKnownLinkTest, AGapIsReadThroughWhereThatIsSoonerDoneThanARequest) {
  reader_.Prefetch(kLarge, {2 * kMiB, 5 * kMiB});  // The link is busy: nothing is cut.
  const auto read_around = [&](uint64_t begin, uint64_t bytes) {
    reader_.Prefetch(kLarge, {begin, begin + bytes});
    Answer(store_.count() - 1);
    const size_t before = store_.count();
    const ReadOutcome read(reader_, kLarge, {begin - 256 * kKiB, begin + bytes + 256 * kKiB});
    return store_.count() - before;
  };
  EXPECT_EQ(read_around(36 * kMiB + 512 * kKiB, 704 * kKiB), 1u);
  EXPECT_EQ(read_around(96 * kMiB + 512 * kKiB, 896 * kKiB), 2u);
}

TEST_F(ReaderKnownLinkTest, ASmallObjectIsOneRequest) {
  const ObjectId object{"dir/photo.raw", "E3", 4 * kMiB};
  const ReadOutcome read(reader_, object, {0, 4096});
  EXPECT_THAT(Ranges(), ElementsAre(ByteRange{0, 4 * kMiB}));
}

}  // namespace
}  // namespace bucketvol
