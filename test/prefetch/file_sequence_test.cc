#include "mounter/prefetch/file_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr FileSequenceSettings kSettings{.objects = 20'000};

std::vector<uint64_t> Ordinals(uint64_t count) {
  std::vector<uint64_t> ordinals(count);
  std::iota(ordinals.begin(), ordinals.end(), 0);
  return ordinals;
}

std::vector<uint64_t> Permutation(uint64_t count, unsigned seed) {
  std::vector<uint64_t> ordinals = Ordinals(count);
  std::mt19937 random(seed);
  for (size_t i = count; i > 1; --i) std::swap(ordinals[i - 1], ordinals[random() % i]);
  return ordinals;
}

uint64_t Planned(const std::vector<OrdinalRange>& ranges) {
  uint64_t count = 0;
  for (const OrdinalRange& range : ranges) count += range.count;
  return count;
}

TEST(FileSequence, ThirdTouchInOrderFetchesAhead) {
  FileSequence files(kSettings);
  EXPECT_THAT(files.OnOpen(10, Stall::kAbsent, {}), IsEmpty());
  EXPECT_THAT(files.OnOpen(11, Stall::kAbsent, {}), IsEmpty());
  EXPECT_THAT(files.OnOpen(12, Stall::kAbsent, {}), ElementsAre(OrdinalRange{13, 4}));
}

TEST(FileSequence, TouchesNearlyInOrderCountToo) {
  FileSequence files(kSettings);
  EXPECT_THAT(files.OnOpen(13, Stall::kAbsent, {}), IsEmpty());
  EXPECT_THAT(files.OnOpen(10, Stall::kAbsent, {}), IsEmpty());
  EXPECT_THAT(files.OnOpen(12, Stall::kAbsent, {}), ElementsAre(OrdinalRange{14, 4}));
}

TEST(FileSequence, RepeatedTouchesAreNotAnOrder) {
  FileSequence files(kSettings);
  for (int i = 0; i < 10; ++i) EXPECT_THAT(files.OnOpen(10, Stall::kAbsent, {}), IsEmpty());
  for (int i = 0; i < 10; ++i) EXPECT_THAT(files.OnOpen(11, Stall::kAbsent, {}), IsEmpty());
}

TEST(FileSequence, DoublesOncePerRoundWhileReadersWait) {
  FileSequence files(kSettings);
  files.OnOpen(0, Stall::kAbsent, {});
  files.OnOpen(1, Stall::kAbsent, {});
  ASSERT_THAT(files.OnOpen(2, Stall::kAbsent, {}), ElementsAre(OrdinalRange{3, 4}));
  // 3 to 6 were planned in one round: only the first of them shows that four are too few.
  EXPECT_THAT(files.OnOpen(3, Stall::kInflight, {}), ElementsAre(OrdinalRange{7, 5}));
  EXPECT_THAT(files.OnOpen(4, Stall::kInflight, {}), ElementsAre(OrdinalRange{12, 1}));
  EXPECT_EQ(Planned(files.OnOpen(7, Stall::kInflight, {})), 9);
}

TEST(FileSequence, KeepsItsDistanceWhenNobodyWaits) {
  FileSequence files(kSettings);
  for (uint64_t i = 0; i < 3; ++i) files.OnOpen(i, Stall::kAbsent, {});
  for (uint64_t i = 3; i < 100; ++i) EXPECT_EQ(Planned(files.OnOpen(i, Stall::kNone, {})), 1) << i;
}

TEST(FileSequence, KeepsAtMostTheLimitAhead) {
  FileSequence files(kSettings);
  uint64_t planned_to = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    for (const OrdinalRange& range : files.OnOpen(i, Stall::kInflight, {}))
      planned_to = range.first + range.count;
    ASSERT_LE(planned_to, i + 1 + kSettings.max_ahead);
  }
  EXPECT_EQ(planned_to, 10'000 + kSettings.max_ahead);
}

TEST(FileSequence, PlansNothingBehindTheLastObject) {
  FileSequence files({.objects = 100});
  uint64_t planned_to = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    for (const OrdinalRange& range : files.OnOpen(i, Stall::kInflight, {}))
      planned_to = range.first + range.count;
  }
  EXPECT_EQ(planned_to, 100);
}

TEST(FileSequence, PlansEachObjectOnce) {
  FileSequence files(kSettings);
  for (uint64_t i = 0; i < 10'000; ++i) files.OnOpen(i, Stall::kInflight, {});
  EXPECT_EQ(files.fetched(), 10'000 + kSettings.max_ahead - 3);
  EXPECT_EQ(files.used(), 10'000 - 3);
}

TEST(FileSequence, RandomOrderFetchesNextToNothing) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    FileSequence files(kSettings);
    for (const uint64_t ordinal : Permutation(20'000, seed)) files.OnOpen(ordinal, Stall::kAbsent, {});
    EXPECT_LE(files.fetched(), 200) << seed;
  }
}

TEST(FileSequence, RandomOrderOfFewFilesFetchesNextToNothing) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    FileSequence files({.objects = 1'000});
    for (const uint64_t ordinal : Permutation(1'000, seed)) files.OnOpen(ordinal, Stall::kAbsent, {});
    EXPECT_LE(files.fetched(), 200) << seed;
  }
}

TEST(FileSequence, ReadersThatWalkTogetherAreOneOrder) {
  FileSequence files(kSettings);
  // 256 readers that share a list: each block of 256 is touched in some order.
  uint64_t used = 0;
  for (uint64_t block = 0; block < 78; ++block) {
    for (const uint64_t i : Permutation(256, static_cast<unsigned>(block)))
      files.OnOpen(block * 256 + i, Stall::kInflight, {});
    used = files.used();
  }
  EXPECT_GE(used, 0.9 * 78 * 256);
  EXPECT_LE(files.fetched() - files.used(), 1024);
}

TEST(FileSequence, ManyReadersEachInItsOwnPlace) {
  FileSequence files({.objects = 256 * 1000});
  for (uint64_t i = 0; i < 500; ++i) {
    for (const uint64_t reader : Permutation(256, static_cast<unsigned>(i)))
      files.OnOpen(reader * 1000 + i, Stall::kInflight, {});
  }
  EXPECT_GE(files.used(), 256 * 490);
  EXPECT_LE(files.fetched() - files.used(), 1024 + 256 * 4);
}

TEST(FileSequence, AnOrderedReaderKeepsItsPlaceAmongRandomOnes) {
  FileSequence files({.objects = 1'000'000});
  std::mt19937 random(1);
  for (uint64_t i = 0; i < 500; ++i) {
    files.OnOpen(i, Stall::kInflight, {});
    for (int other = 0; other < 255; ++other) files.OnOpen(1000 + random() % 999'000, Stall::kAbsent, {});
  }
  EXPECT_GE(files.used(), 490);
}

TEST(FileSequence, ASecondPassIsFetchedAheadOfLikeTheFirst) {
  FileSequence files({.objects = 1000});
  for (int pass = 0; pass < 3; ++pass) {
    const uint64_t before = files.used();
    for (uint64_t i = 0; i < 1000; ++i) files.OnOpen(i, Stall::kInflight, {});
    EXPECT_GE(files.used() - before, 990) << pass;
  }
}

TEST(FileSequence, UsedBelowOneFifthStopsForAMinute) {
  FileSequence files(kSettings);
  for (uint64_t i = 0; i < 40; ++i) files.OnOpen(i, Stall::kNone, {});
  // Every eighth object only.
  uint64_t last = 40;
  for (; last < 2000; last += 8) files.OnOpen(last, Stall::kAbsent, {});
  const uint64_t fetched = files.fetched();
  EXPECT_LE(fetched, 40 + 4 + 200);
  for (uint64_t i = 0; i < 10; ++i)
    EXPECT_THAT(files.OnOpen(last + i, Stall::kAbsent, absl::Seconds(59)), IsEmpty());
  last += 10;
  EXPECT_GT(Planned(files.OnOpen(last, Stall::kAbsent, absl::Seconds(61))), 0);
}

TEST(FileSequence, UsedBelowOneHalfHalvesWhatIsAhead) {
  FileSequence files(kSettings);
  uint64_t planned_to = 0;
  const auto open = [&](uint64_t ordinal, Stall stall) {
    for (const OrdinalRange& range : files.OnOpen(ordinal, stall, {})) planned_to = range.first + range.count;
  };
  for (uint64_t i = 0; i < 100; ++i) open(i, Stall::kInflight);
  const uint64_t ahead = planned_to - 100;
  uint64_t last = 100;
  for (; last < 1000; last += 3) open(last, Stall::kNone);
  EXPECT_LE(planned_to, last + ahead / 4);
}

}  // namespace
}  // namespace bucketvol
