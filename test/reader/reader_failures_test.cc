#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/base/crc.h"
#include "mounter/objstore/store_error.h"
#include "mounter/reader/reader.h"
#include "test/reader/manual_reader_test.h"
#include "test/reader/manual_store.h"
#include "test/reader/read_outcome.h"
#include "test/support/fake_clock.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::AllOf;
using testing::ContentOf;
using testing::FakeClock;
using ::testing::HasSubstr;
using testing::ManualReaderTest;
using testing::ManualStore;
using testing::ReadOutcome;
using testing::StatusIs;

constexpr uint64_t kMiB = 1 << 20;
const ObjectId kSmall{"small", "E1", 100'000};
const ObjectId kLarge{"large", "E2", 64 * kMiB};

class ReaderFailuresTest : public ManualReaderTest {};

TEST_F(ReaderFailuresTest, AnErrorGoesToThoseWhoWaitAndTheNextReadAsksAgain) {
  const ReadOutcome early(reader_, kSmall, {0, 100});
  const ReadOutcome waiting(reader_, kSmall, {0, 50'000});
  const ReadOutcome another(reader_, kSmall, {90'000, 100'000});
  store_.Send(0, 1000);
  store_.End(0, absl::UnavailableError("connection reset"));
  EXPECT_EQ(early.text(), ContentOf(kSmall, {0, 100}));
  for (const ReadOutcome& read : {waiting, another}) {
    EXPECT_THAT(read.status(),
                StatusIs(absl::StatusCode::kUnavailable,
                         AllOf(HasSubstr("cannot read oss://b/small"), HasSubstr("connection reset"))));
  }
  EXPECT_THAT(reader_.last_error(), HasSubstr("connection reset"));

  const ReadOutcome again(reader_, kSmall, {0, 100});
  store_.Complete(1);
  EXPECT_EQ(again.text(), ContentOf(kSmall, {0, 100}));
}

// As the kernel does: a read of its own where its read-ahead has failed.
TEST_F(ReaderFailuresTest, WhatFailedAfterALongTimeFailsForAMomentWithoutARequest) {
  constexpr ByteRange kMiddle{8 * kMiB, 8 * kMiB + 4096};  // No stream.
  const ReadOutcome waiting(reader_, kLarge, kMiddle);
  clock_.Advance(absl::Seconds(100));
  store_.End(0, absl::DeadlineExceededError("no answer within 20s"));
  EXPECT_FALSE(waiting.status().ok());
  const ReadOutcome again(reader_, kLarge, kMiddle);
  EXPECT_EQ(again.status(), waiting.status());
  EXPECT_EQ(store_.count(), 1u);
  const ReadOutcome elsewhere(reader_, kLarge, {32 * kMiB, 32 * kMiB + 4096});
  store_.Complete(1);
  EXPECT_OK(elsewhere.status());

  clock_.Advance(absl::Seconds(1));
  const ReadOutcome later(reader_, kLarge, kMiddle);
  ASSERT_EQ(store_.count(), 3u);
  store_.Complete(2);
  EXPECT_EQ(later.text(), ContentOf(kLarge, kMiddle));
}

uint64_t Crc64Of(const ObjectId& id) { return Crc64(0, ContentOf(id, {0, id.size})); }

TEST_F(ReaderFailuresTest, NothingIsGivenOutBeforeTheObjectsChecksumWasFoundRight) {
  const ReadOutcome read(reader_, kSmall, {0, 100});
  store_.ObjectCrc64(0, Crc64Of(kSmall));
  store_.Send(0, kSmall.size);
  EXPECT_FALSE(read.done());
  store_.End(0, absl::OkStatus());
  EXPECT_EQ(read.text(), ContentOf(kSmall, {0, 100}));
  EXPECT_EQ(metrics_.bad_checksums, 0u);
}

TEST_F(ReaderFailuresTest, WrongBytesThatTheObjectsChecksumTellsAreAskedForAgain) {
  const ReadOutcome read(reader_, kSmall, {0, kSmall.size});
  store_.ObjectCrc64(0, Crc64Of(kSmall));
  store_.Send(0, 70'000);
  store_.SendWrong(0, 30'000);
  store_.End(0, absl::OkStatus());
  EXPECT_FALSE(read.done());
  EXPECT_EQ(metrics_.bad_checksums, 1u);
  ASSERT_EQ(store_.count(), 2u);
  EXPECT_EQ(store_.request(1).range, (ByteRange{0, kSmall.size}));
  store_.ObjectCrc64(1, Crc64Of(kSmall));
  store_.Complete(1);
  EXPECT_EQ(read.text(), ContentOf(kSmall, {0, kSmall.size}));
}

TEST_F(ReaderFailuresTest, AnObjectThatNeverMatchesItsChecksumIsAnError) {
  const ReadOutcome read(reader_, kSmall, {0, 100});
  for (size_t get = 0; get < 3; ++get) {
    ASSERT_EQ(store_.count(), get + 1);
    store_.ObjectCrc64(get, Crc64Of(kSmall) + 1);
    store_.Complete(get);
  }
  EXPECT_THAT(read.status(),
              StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("oss://b/small"), HasSubstr("CRC-64"))));
  const ReadOutcome again(reader_, kSmall, {0, 100});
  store_.Complete(3);
  EXPECT_EQ(again.text(), ContentOf(kSmall, {0, 100}));
}

TEST_F(ReaderFailuresTest, AChecksumOfTheObjectSaysNothingOfAPart) {
  const ReadOutcome read(reader_, kLarge, {8 * kMiB, 8 * kMiB + 100});
  store_.ObjectCrc64(0, 4711);
  store_.Send(0, 100);
  EXPECT_EQ(read.text(), ContentOf(kLarge, {8 * kMiB, 8 * kMiB + 100}));
}

// The store repeats what was refused, so that nobody sees an error: the load falls all the same.
TEST_F(ReaderFailuresTest, WhatTheServiceCannotHaveOpenWaitsHere) {
  std::vector<ReadOutcome> reads;
  const auto read = [&](int i) {
    reads.emplace_back(reader_, ObjectId{absl::StrCat("o", i), "E", 1000}, ByteRange{0, 1});
  };
  for (int i = 0; i < 40; ++i) read(i);
  ASSERT_EQ(store_.count(), 40u);
  reader_.congestion_observer()->OnCongestion(Congestion::kActiveRequests);
  read(40);
  EXPECT_EQ(store_.count(), 40u);
  for (size_t get = 0; get < 12; ++get) store_.Complete(get);
  EXPECT_EQ(store_.count(), 40u) << "28 of 40 may be open";
  store_.Complete(12);
  ASSERT_EQ(store_.count(), 41u);
  store_.Complete(40);
  EXPECT_OK(reads[40].status());
}

TEST_F(ReaderFailuresTest, WhereBandwidthIsRefusedLessIsFetchedAheadAtATime) {
  const ObjectId object{"object", "E", uint64_t{1} << 30};
  ReadMetrics metrics;
  Reader reader(store_, clock_, metrics, ReaderSettings{.memory_bytes = uint64_t{4} << 30});
  const auto asked = [&] {
    uint64_t bytes = 0;
    for (size_t get = 0; get < store_.count(); ++get) bytes += store_.Remaining(get);
    return bytes;
  };
  reader.Prefetch(object, {0, object.size});
  EXPECT_GE(asked(), 128 * kMiB) << "16 requests of 8 MiB";
  reader.congestion_observer()->OnCongestion(Congestion::kBandwidth);
  for (size_t get = 0; get < 16; ++get) store_.Complete(get);
  EXPECT_LE(asked(), 90 * kMiB);
  store_.CancelAll();
}

TEST(ReaderLifeTest, WhoHearsOfCongestionMayOutliveTheReader) {
  ManualStore store;
  FakeClock clock;
  ReadMetrics metrics;
  std::shared_ptr<CongestionObserver> observer;
  {
    Reader reader(store, clock, metrics, ReaderSettings{});
    observer = reader.congestion_observer();
  }
  observer->OnCongestion(Congestion::kBandwidth);
}

TEST_F(ReaderFailuresTest, AFetchAheadThatFailedIsMadeUpForByItsReader) {
  const ReadOutcome first(reader_, kLarge, {0, kMiB});
  ASSERT_GE(store_.count(), 3u) << "the demand, and parts ahead of it";
  const ByteRange failed = store_.request(1).range;
  const size_t before = store_.count();
  store_.Complete(0);
  store_.End(1, absl::UnavailableError("connection reset"));
  EXPECT_EQ(store_.count(), before) << "nobody needs it yet";
  uint64_t asked_again = 0;
  for (uint64_t at = kMiB; at < 8 * kMiB; at += kMiB / 16) {
    const size_t sent = store_.count();
    const ReadOutcome read(reader_, kLarge, {at, at + kMiB / 16});
    if (at == failed.begin) {
      EXPECT_EQ(store_.request(sent).range, failed);
    }
    for (size_t get = sent; get < store_.count(); ++get) {
      if (store_.request(get).range.begin < failed.end) ++asked_again;
    }
    for (size_t get = 0; get < store_.count(); ++get) {
      if (store_.InFlight(get)) store_.Complete(get);
    }
    ASSERT_EQ(read.text(), ContentOf(kLarge, {at, at + kMiB / 16}));
  }
  EXPECT_EQ(asked_again, 1u);
}

TEST_F(ReaderFailuresTest, BlocksThatWereCompleteBeforeTheErrorStay) {
  const ReadOutcome failed(reader_, kLarge, {8 * kMiB, 12 * kMiB});
  store_.Send(0, 2 * kMiB + 5);
  store_.End(0, absl::DeadlineExceededError("stalled"));
  EXPECT_THAT(failed.status(), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("stalled")));
  const ReadOutcome again(reader_, kLarge, {8 * kMiB, 12 * kMiB});
  EXPECT_EQ(store_.request(1).range, (ByteRange{10 * kMiB, 12 * kMiB}));
  store_.Complete(1);
  EXPECT_EQ(again.text(), ContentOf(kLarge, {8 * kMiB, 12 * kMiB}));
}

TEST_F(ReaderFailuresTest, AReadOverTwoFetchesFailsOnceWhicheverFails) {
  const ReadOutcome first(reader_, kLarge, {30 * kMiB, 31 * kMiB});
  const ReadOutcome both(reader_, kLarge, {30 * kMiB, 32 * kMiB});
  store_.End(1, absl::UnavailableError("second"));
  EXPECT_THAT(both.status(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("second")));
  store_.Complete(0);
  EXPECT_EQ(first.text(), ContentOf(kLarge, {30 * kMiB, 31 * kMiB}));
}

TEST_F(ReaderFailuresTest, AStoreThatBreaksItsPromiseOfLengthIsNotBelieved) {
  const ReadOutcome shorter(reader_, kSmall, {0, 100'000});
  store_.Send(0, 99'999);
  store_.End(0, absl::OkStatus());
  EXPECT_THAT(shorter.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("fewer bytes")));
  const ReadOutcome again(reader_, kSmall, {0, 100'000});
  store_.Send(1, 100'000);
  store_.Send(1, 10);  // Is ignored; the object's own bytes were right.
  store_.End(1, absl::OkStatus());
  EXPECT_EQ(again.text(), ContentOf(kSmall, {0, 100'000}));
}

TEST_F(ReaderFailuresTest, AChangedObjectIsStaleAndCostsNoRequestForAWhile) {
  const ReadOutcome good(reader_, kLarge, {0, kMiB});
  store_.Complete(0);
  const ReadOutcome found(reader_, kLarge, {20 * kMiB, 21 * kMiB});
  const size_t before = store_.count();
  store_.End(before - 1, absl::FailedPreconditionError("PreconditionFailed"));
  const auto is_stale = StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("object changed since it was indexed: oss://b/large"));
  EXPECT_THAT(found.status(), is_stale);
  EXPECT_THAT(ReadOutcome(reader_, kLarge, {40 * kMiB, 41 * kMiB}).status(), is_stale);
  EXPECT_THAT(ReadOutcome(reader_, kLarge, {0, kMiB}).status(), is_stale)
      << "bytes in memory are of the old version";
  EXPECT_EQ(store_.count(), before);
  EXPECT_THAT(reader_.last_error(), HasSubstr("object changed since it was indexed"));
  EXPECT_EQ(metrics_.stale_objects, 1u);

  clock_.Advance(absl::Seconds(10));
  const ReadOutcome later(reader_, kLarge, {40 * kMiB, 41 * kMiB});
  ASSERT_EQ(store_.count(), before + 1);
  store_.End(before, absl::FailedPreconditionError("PreconditionFailed"));
  EXPECT_THAT(later.status(), is_stale);
  EXPECT_EQ(metrics_.stale_objects, 1u) << "counted once";

  clock_.Advance(absl::Seconds(10));
  const ReadOutcome again(reader_, kLarge, {0, kMiB});
  EXPECT_FALSE(again.done()) << "bytes of the old version must not come back from memory";
}

TEST_F(ReaderFailuresTest, BytesOfAnotherVersionAreNotServed) {
  const ReadOutcome read(reader_, kSmall, {0, 100});
  store_.Version(0, "E7");
  store_.Send(0, 100'000);
  EXPECT_FALSE(read.done());
  store_.End(0, absl::OkStatus());
  EXPECT_THAT(read.status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another ETag")));
}

TEST_F(ReaderFailuresTest, TheCaseOfAnETagsLettersSaysNothing) {
  const ReadOutcome read(reader_, kSmall, {0, 100});
  store_.Version(0, "e1");
  store_.Complete(0);
  EXPECT_EQ(read.text(), ContentOf(kSmall, {0, 100}));
}

TEST_F(ReaderFailuresTest, WithoutAnIndexedETagTheFirstVersionCounts) {
  const ObjectId unnamed{"unnamed", "", 64 * kMiB};
  const ReadOutcome first(reader_, unnamed, {0, kMiB});
  store_.Version(0, "V1");
  store_.Complete(0);
  EXPECT_OK(first.status());
  const ReadOutcome second(reader_, unnamed, {30 * kMiB, 31 * kMiB});
  const size_t last = store_.count() - 1;
  store_.Version(last, "V2");
  store_.Complete(last);
  EXPECT_THAT(second.status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("object changed")));
}

TEST_F(ReaderFailuresTest, ADeletedObjectIsStaleButAMissingBucketIsNot) {
  const ReadOutcome deleted(reader_, kSmall, {0, 10});
  store_.End(0, absl::NotFoundError("NoSuchKey"));
  EXPECT_THAT(deleted.status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("was deleted since it was indexed")));
  EXPECT_EQ(metrics_.stale_objects, 1u);
  const ReadOutcome no_bucket(reader_, kLarge, {0, 10});
  store_.End(1, MakeStoreStatus(absl::StatusCode::kNotFound, "get",
                                StoreError{.http_status = 404, .code = "NoSuchBucket"}));
  EXPECT_THAT(no_bucket.status(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot read")));
  EXPECT_EQ(metrics_.stale_objects, 1u);
}

// Each part of it would fail in the same way.
TEST_F(ReaderFailuresTest, OfAChangedObjectNothingMoreIsFetchedAhead) {
  const ObjectId object{"object", "E", uint64_t{1} << 30};
  Reader reader(store_, clock_, metrics_, ReaderSettings{.memory_bytes = uint64_t{4} << 30});
  reader.Prefetch(object, {0, object.size});
  const size_t sent = store_.count();
  ASSERT_LT(sent * 8 * kMiB, object.size) << "the rest waits for its turn";
  for (size_t get = 0; get < sent; ++get)
    store_.End(get, absl::FailedPreconditionError("PreconditionFailed"));
  EXPECT_EQ(store_.count(), sent);
}

TEST_F(ReaderFailuresTest, AnArchivedObjectCostsOneRequestInAWhile) {
  const auto archived = MakeStoreStatus(absl::StatusCode::kPermissionDenied, "get",
                                        StoreError{.http_status = 403,
                                                   .code = "InvalidObjectState",
                                                   .message = "the object is archived; restore it first"});
  const auto is_archived =
      StatusIs(absl::StatusCode::kPermissionDenied,
               AllOf(HasSubstr("cannot read oss://b/large"), HasSubstr("restore it first")));
  constexpr ByteRange kMiddle{8 * kMiB, 8 * kMiB + 4096};  // No stream.
  const ReadOutcome read(reader_, kLarge, kMiddle);
  store_.End(0, archived);
  EXPECT_THAT(read.status(), is_archived);
  EXPECT_THAT(ReadOutcome(reader_, kLarge, {9 * kMiB, 9 * kMiB + 4096}).status(), is_archived);
  EXPECT_EQ(store_.count(), 1u);
  EXPECT_EQ(metrics_.stale_objects, 0u) << "it has not changed";
  const ReadOutcome other(reader_, kSmall, {0, 10});
  store_.Complete(1);
  EXPECT_OK(other.status());

  clock_.Advance(absl::Seconds(10));  // Somebody has restored it.
  const ReadOutcome restored(reader_, kLarge, kMiddle);
  ASSERT_EQ(store_.count(), 3u);
  store_.Complete(2);
  EXPECT_EQ(restored.text(), ContentOf(kLarge, kMiddle));
}

TEST_F(ReaderFailuresTest, DamagedMemoryIsFetchedAgain) {
  ReadOutcome first(reader_, kSmall, {0, 100'000});
  store_.Complete(0);
  const_cast<char&>(first.data().slices[1].bytes[4'000]) ^= 1;
  const ReadOutcome elsewhere(reader_, kSmall, {0, 60'000});  // In another piece with a checksum of its own.
  EXPECT_EQ(elsewhere.text(), ContentOf(kSmall, {0, 60'000}));
  const ReadOutcome damaged(reader_, kSmall, {60'000, 70'000});
  EXPECT_FALSE(damaged.done());
  store_.Complete(1);
  EXPECT_EQ(damaged.text(), ContentOf(kSmall, {60'000, 70'000}));
  EXPECT_EQ(metrics_.bad_checksums, 1u);
}

// Two damaged blocks and a right one between them.
TEST_F(ReaderFailuresTest, AChecksumOfTheObjectSaysNothingOfBlocksWithAGap) {
  const ObjectId object{"three blocks", "E3", 150'000};
  ReadOutcome first(reader_, object, {0, 150'000});
  store_.Complete(0);
  for (const size_t block : {0, 2}) const_cast<char&>(first.data().slices[block].bytes[100]) ^= 1;
  for (const ByteRange damaged : {ByteRange{0, 200}, ByteRange{140'000, 150'000}}) {
    const ReadOutcome read(reader_, object, damaged);
    for (size_t get = 1; get < store_.count(); ++get) {
      if (store_.InFlight(get)) store_.End(get, absl::UnavailableError("reset"));
    }
  }
  const size_t get = store_.count();
  const ReadOutcome read(reader_, object, {0, 200});
  ASSERT_EQ(store_.request(get).range, (ByteRange{0, 150'000}));
  store_.ObjectCrc64(get, Crc64Of(object));
  store_.Complete(get);
  EXPECT_EQ(store_.count(), get + 1);
  EXPECT_EQ(read.text(), ContentOf(object, {0, 200}));
  EXPECT_EQ(ReadOutcome(reader_, object, {0, 150'000}).text(), ContentOf(object, {0, 150'000}));
}

}  // namespace
}  // namespace bucketvol
