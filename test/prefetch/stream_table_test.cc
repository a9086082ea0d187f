#include "mounter/prefetch/stream_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kKiB = 1 << 10;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kSize = 1024 * kMiB;
constexpr uint64_t kPlenty = 4096 * kMiB;

class StreamTableTest : public ::testing::Test {
 protected:
  Plan Note(uint64_t begin, uint64_t length, Stall stall = Stall::kAbsent, uint64_t limit = kPlenty) {
    return table_.Note({begin, begin + length}, stall, link_, limit, now_);
  }
  /// Makes a stream that expects its next read at `begin` + 2 MiB.
  void Begin(uint64_t begin) {
    for (uint64_t i = 0; i < 16; ++i) Note(begin + i * 128 * kKiB, 128 * kKiB);
  }
  static uint64_t End(const Plan& plan) { return plan.ahead.empty() ? 0 : plan.ahead.back().end; }

  LinkEstimate link_;
  absl::Duration now_ = absl::Seconds(1);
  StreamTable table_{kSize, {}};
};

TEST_F(StreamTableTest, SmallObjectIsFetchedWhole) {
  StreamTable table(8 * kMiB, {});
  const Plan plan = table.Note({4096, 8192}, Stall::kAbsent, link_, kPlenty, now_);
  EXPECT_EQ(plan.demand, (ByteRange{0, 8 * kMiB}));
  EXPECT_THAT(plan.ahead, IsEmpty());
}

TEST_F(StreamTableTest, AheadOffWidensNothingOfALargeObject) {
  StreamTable table(kSize, {.ahead = StreamSettings::Ahead::kOff});
  for (uint64_t i = 0; i < 100; ++i) {
    const Plan plan = table.Note({i * kMiB, (i + 1) * kMiB}, Stall::kAbsent, link_, kPlenty, now_);
    EXPECT_EQ(plan.demand, (ByteRange{i * kMiB, (i + 1) * kMiB}));
    EXPECT_THAT(plan.ahead, IsEmpty());
  }
}

TEST_F(StreamTableTest, BeginningOfTheObjectIsAStreamAtOnce) {
  const Plan plan = Note(0, 128 * kKiB);
  EXPECT_TRUE(plan.new_stream);
  EXPECT_EQ(plan.demand, (ByteRange{0, kMiB}));
  EXPECT_THAT(plan.ahead, ElementsAre(ByteRange{kMiB, 2 * kMiB}, ByteRange{2 * kMiB, 3 * kMiB},
                                      ByteRange{3 * kMiB, 4 * kMiB}));
}

TEST_F(StreamTableTest, LoneReadElsewhereBringsLittleMore) {
  const Plan plan = Note(512 * kMiB + 4096, 4096);
  EXPECT_FALSE(plan.new_stream);
  EXPECT_EQ(plan.demand, (ByteRange{512 * kMiB, 512 * kMiB + 256 * kKiB}));
  EXPECT_THAT(plan.ahead, IsEmpty());
}

TEST_F(StreamTableTest, ReadsOfAMebibyteInPiecesBringNoMore) {
  uint64_t end = 0;
  for (uint64_t i = 0; i < 8; ++i) {
    const Plan plan = Note(512 * kMiB + i * 128 * kKiB, 128 * kKiB);
    EXPECT_THAT(plan.ahead, IsEmpty());
    end = std::max(end, plan.demand.end);
  }
  EXPECT_EQ(end, 513 * kMiB);
}

TEST_F(StreamTableTest, RunOfMoreThanAMebibyteIsAStream) {
  for (uint64_t i = 0; i < 8; ++i) EXPECT_FALSE(Note(512 * kMiB + i * 128 * kKiB, 128 * kKiB).new_stream);
  EXPECT_TRUE(Note(513 * kMiB, 128 * kKiB).new_stream);
  // It is fetched ahead by as much as it has read, in whole parts.
  now_ += link_.first_byte_p50;
  EXPECT_EQ(End(Note(513 * kMiB + 128 * kKiB, 128 * kKiB, Stall::kInflight)), 515 * kMiB);
}

TEST_F(StreamTableTest, PageAndWhatFollowsItAreOneCandidate) {
  Note(512 * kMiB, 4 * kKiB);
  EXPECT_TRUE(Note(512 * kMiB + 4 * kKiB, kMiB).new_stream);
}

TEST_F(StreamTableTest, ReadsThatOvertakeEachOtherAreOneStream) {
  Note(0, 128 * kKiB);
  for (const uint64_t i : {3, 1, 2, 7, 5, 4, 6, 20, 10, 15})
    Note(i * 128 * kKiB, 128 * kKiB, Stall::kInflight);
  EXPECT_EQ(table_.streams_begun(), 1);
}

TEST_F(StreamTableTest, WindowDoublesOncePerRoundTripOfWaiting) {
  uint64_t end = End(Note(0, 128 * kKiB));
  const uint64_t first = end;
  for (int i = 1; i < 5; ++i) end = std::max(end, End(Note(i * 128 * kKiB, 128 * kKiB, Stall::kInflight)));
  EXPECT_EQ(end, first);  // No round trip has passed.
  now_ += link_.first_byte_p50;
  EXPECT_GE(End(Note(5 * 128 * kKiB, 128 * kKiB, Stall::kInflight)), 8 * kMiB);
}

TEST_F(StreamTableTest, WindowStaysWhenNobodyWaits) {
  Note(0, kMiB);
  for (uint64_t i = 1; i < 100; ++i) {
    now_ += absl::Milliseconds(100);
    EXPECT_LE(End(Note(i * kMiB, kMiB, Stall::kNone)), (i + 1) * kMiB + 4 * kMiB);
  }
}

TEST_F(StreamTableTest, WindowStaysWithinTheLimit) {
  Note(0, kMiB, Stall::kAbsent, 6 * kMiB);
  for (uint64_t i = 1; i < 100; ++i) {
    now_ += absl::Milliseconds(100);
    Note(i * kMiB, kMiB, Stall::kInflight, 6 * kMiB);
    EXPECT_LE(table_.ScheduledAhead(), 6 * kMiB);
  }
}

TEST_F(StreamTableTest, WithoutMemoryNothingIsFetchedAhead) {
  for (uint64_t i = 0; i < 100; ++i)
    EXPECT_THAT(Note(i * kMiB, kMiB, Stall::kAbsent, kMiB - 1).ahead, IsEmpty());
}

TEST_F(StreamTableTest, WindowShrinksWhenBytesLieUnread) {
  uint64_t position = 0;
  for (; position < 100 * kMiB; position += kMiB) {
    now_ += absl::Milliseconds(35);
    Note(position, kMiB, Stall::kInflight);
  }
  const uint64_t wide = table_.ScheduledAhead();
  for (int i = 0; i < 100; ++i, position += 512 * kKiB) {
    now_ += absl::Milliseconds(500);
    Note(position, 512 * kKiB, Stall::kNone);
  }
  EXPECT_GE(wide, 30 * kMiB);
  EXPECT_LE(table_.ScheduledAhead(), wide / 2);
}

TEST_F(StreamTableTest, PartsAreAlignedAndTheLastOnesShort) {
  std::vector<ByteRange> parts;
  for (uint64_t i = 0; i < kSize / kMiB; ++i) {
    now_ += absl::Milliseconds(10);
    for (const ByteRange& part : Note(i * kMiB, kMiB, Stall::kInflight).ahead) parts.push_back(part);
  }
  for (const ByteRange& part : parts) EXPECT_EQ(part.end % kMiB, 0);
  EXPECT_GE(parts[parts.size() / 2].size(), 2 * kMiB);
  EXPECT_EQ(parts.back().end, kSize);
  EXPECT_LE(parts.back().size(), kMiB);
}

TEST_F(StreamTableTest, ThirtyTwoStreamsInterleave) {
  for (uint64_t i = 0; i < 32; ++i) Begin(i * 32 * kMiB);
  const uint64_t begun = table_.streams_begun();
  for (uint64_t step = 0; step < 32; ++step) {
    for (uint64_t i = 0; i < 32; ++i)
      Note((i * 32 + 2) * kMiB + step * 128 * kKiB, 128 * kKiB, Stall::kInflight);
  }
  EXPECT_EQ(begun, 32);
  EXPECT_EQ(table_.streams_begun(), begun);
}

TEST_F(StreamTableTest, NothingIsFetchedAheadOfWhereAnotherReaderBegan) {
  Begin(512 * kMiB);
  Begin(544 * kMiB);
  uint64_t end = 0;
  for (uint64_t at = 514 * kMiB; at < 544 * kMiB; at += kMiB) {
    now_ += absl::Milliseconds(40);
    end = std::max(end, End(Note(at, kMiB, Stall::kInflight)));
    end = std::max(end, End(Note(at + 32 * kMiB, kMiB, Stall::kInflight)) > 544 * kMiB ? end : UINT64_MAX);
  }
  EXPECT_EQ(end, 544 * kMiB);
  // One that comes there and goes on is followed again.
  Note(544 * kMiB, kMiB);
  EXPECT_GT(End(Note(545 * kMiB, kMiB)), 547 * kMiB);
}

TEST_F(StreamTableTest, WhereAReaderBeganLongAgoSaysNothing) {
  Begin(544 * kMiB);
  now_ += absl::Seconds(11);
  Begin(512 * kMiB);
  uint64_t end = 0;
  for (uint64_t at = 514 * kMiB; at < 540 * kMiB; at += kMiB) {
    now_ += absl::Milliseconds(40);
    end = std::max(end, End(Note(at, kMiB, Stall::kInflight)));
  }
  EXPECT_GT(end, 544 * kMiB);
}

TEST_F(StreamTableTest, DescendingReaderIsFollowedDownwards) {
  Plan plan;
  for (uint64_t i = 1; i <= 4; ++i) plan = Note(512 * kMiB - i * kMiB, kMiB);
  ASSERT_TRUE(plan.new_stream);
  ASSERT_THAT(plan.ahead, Not(IsEmpty()));
  EXPECT_EQ(plan.ahead.front().end, 508 * kMiB);
  EXPECT_LT(plan.ahead.back().begin, plan.ahead.front().begin);
}

TEST_F(StreamTableTest, DescendingReaderStopsAtTheBeginning) {
  uint64_t lowest = kSize;
  for (uint64_t i = 1; i <= 16; ++i) {
    now_ += absl::Milliseconds(40);
    for (const ByteRange& part : Note(16 * kMiB - i * kMiB, kMiB).ahead) {
      ASSERT_LT(part.begin, part.end);
      ASSERT_LE(part.end, 16 * kMiB);
      lowest = std::min(lowest, part.begin);
    }
  }
  EXPECT_EQ(lowest, 0);
}

TEST_F(StreamTableTest, EqualStepsHaveTheNextPlacesFetched) {
  for (uint64_t i = 1; i <= 3; ++i) EXPECT_THAT(Note(i * 17 * kMiB, 256 * kKiB).ahead, IsEmpty());
  const uint64_t next = 5 * 17 * kMiB;
  EXPECT_THAT(Note(4 * 17 * kMiB, 256 * kKiB).ahead,
              ElementsAre(ByteRange{next, next + 256 * kKiB},
                          ByteRange{next + 17 * kMiB, next + 17 * kMiB + 256 * kKiB}));
}

TEST_F(StreamTableTest, RandomReadsAreNotStreams) {
  uint64_t state = 1;
  uint64_t ahead = 0;
  for (int i = 0; i < 1000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    ahead += Note((state >> 33) % 4000 * 256 * kKiB, 256 * kKiB).ahead.size();
  }
  EXPECT_LE(ahead, 25);
  EXPECT_LE(table_.streams_begun(), 10);
}

TEST_F(StreamTableTest, IdleStreamGivesItsWindowBack) {
  Note(0, kMiB);
  now_ += absl::Seconds(8);
  EXPECT_THAT(table_.Abandoned(now_), IsEmpty());
  now_ += absl::Seconds(1);
  EXPECT_THAT(table_.Abandoned(now_), ElementsAre(ByteRange{kMiB, 5 * kMiB}));
  EXPECT_EQ(table_.ScheduledAhead(), 0);
  EXPECT_EQ(table_.active_streams(), 0);
  EXPECT_THAT(Note(kMiB, kMiB, Stall::kNone).ahead, Not(IsEmpty()));  // It goes on.
}

TEST_F(StreamTableTest, StreamThatIsLeftForAnotherGivesItsWindowBackSooner) {
  Note(0, kMiB);
  now_ += absl::Milliseconds(999);
  Note(512 * kMiB, kMiB);
  EXPECT_THAT(table_.Abandoned(now_), IsEmpty());
  now_ += absl::Milliseconds(1);
  Note(513 * kMiB, kMiB);
  EXPECT_THAT(table_.Abandoned(now_), ElementsAre(ByteRange{kMiB, 5 * kMiB}));
}

TEST_F(StreamTableTest, LostRangesArePlannedAgain) {
  Note(0, kMiB);
  const Plan plan = Note(kMiB, kMiB, Stall::kAbsent);
  EXPECT_EQ(plan.demand, (ByteRange{kMiB, 2 * kMiB}));
  ASSERT_THAT(plan.ahead, Not(IsEmpty()));
  EXPECT_EQ(plan.ahead.front().begin, 2 * kMiB);
}

TEST_F(StreamTableTest, KnownPartIsFetchedAtItsFirstTouchAndNotBeyond) {
  table_.SetBoundaries({kMiB, 100 * kMiB, 107 * kMiB, kSize});
  const Plan plan = Note(100 * kMiB, 128 * kKiB);
  EXPECT_TRUE(plan.new_stream);
  EXPECT_EQ(End(plan), 107 * kMiB);
  // The reader goes on behind it: no boundary any more.
  Note(106 * kMiB, 2 * kMiB, Stall::kInflight);
  EXPECT_GT(End(Note(108 * kMiB, 2 * kMiB)), 112 * kMiB);
}

TEST_F(StreamTableTest, AReadAroundTheBeginningOfAPartIsOfThatPart) {
  table_.SetBoundaries({kMiB, 100 * kMiB, 107 * kMiB, kSize});
  EXPECT_EQ(End(Note(100 * kMiB - 64 * kKiB, 128 * kKiB)), 107 * kMiB);
}

TEST_F(StreamTableTest, LongPiecesInAnyOrderBringTheWhole) {
  uint64_t ahead = 0;
  for (const uint64_t piece : {50, 10, 90, 30, 70, 20}) {
    for (uint64_t i = 0; i < 3; ++i) {
      for (const ByteRange& part : Note((piece * 8 + i) * kMiB, kMiB).ahead)
        ahead += part.begin < kMiB ? 1 : 0;
    }
  }
  EXPECT_EQ(ahead, 1);  // From its beginning on.
}

TEST_F(StreamTableTest, OfAWholeThatDoesNotFitNoMoreIsFetchedThanTheLimitAllows) {
  constexpr uint64_t kLimit = 32 * kMiB;
  uint64_t planned = 0;
  uint64_t read = 0;
  for (const uint64_t piece : {50, 10, 90, 30, 70, 20, 60, 40, 80}) {
    for (uint64_t i = 0; i < 3; ++i) {
      for (const ByteRange& part : Note((piece * 8 + i) * kMiB, kMiB, Stall::kAbsent, kLimit).ahead)
        planned += part.size();
      read += kMiB;
      EXPECT_LE(table_.ScheduledAhead(), kLimit);
    }
  }
  EXPECT_GT(planned, kLimit / 2);
  EXPECT_LE(planned, kLimit + read);
}

TEST_F(StreamTableTest, OfAWholeNothingIsFetchedThatWasRead) {
  std::vector<ByteRange> read;
  for (const uint64_t piece : {50, 10, 90, 30, 70, 20, 60, 40, 80, 9, 11}) {
    for (uint64_t i = 0; i < 3; ++i) {
      const ByteRange now{(piece * 8 + i) * kMiB, (piece * 8 + i + 1) * kMiB};
      const Plan plan = Note(now.begin, kMiB);
      read.push_back(now);
      if (read.size() < 15) continue;  // It is not certain yet that the whole is wanted.
      for (const ByteRange& part : plan.ahead) {
        for (const ByteRange& before : read)
          EXPECT_TRUE(part.end <= before.begin || before.end <= part.begin)
              << part.begin << " " << before.begin;
      }
    }
  }
}

TEST_F(StreamTableTest, ReadersThatStartOneAfterAnotherDoNotBringTheWhole) {
  for (uint64_t i = 1; i < 8; ++i) Begin(i * 64 * kMiB);
  for (uint64_t step = 0; step < 16; ++step) {
    for (uint64_t i = 1; i < 8; ++i) {
      for (const ByteRange& part : Note((i * 64 + 2) * kMiB + step * kMiB, kMiB, Stall::kInflight).ahead)
        EXPECT_GE(part.begin, 64 * kMiB);
    }
  }
}

}  // namespace
}  // namespace bucketvol
