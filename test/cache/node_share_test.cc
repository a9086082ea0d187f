#include "mounter/cache/node_share.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "test/cache/node_memory_rig.h"

namespace bucketvol {
namespace {

using Claim = NodeLedger::Claim;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kTotal = 1000 * kMiB;
constexpr uint64_t kFloor = 64 * kMiB;

/// Mounts that share 1,000 MiB.
class NodeShareTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ledger_, rig_.Map()); }
  std::unique_ptr<NodeShare> Mount(Claim claim = Claim::kShared, uint64_t total = kTotal) {
    return std::make_unique<NodeShare>(
        *ledger_, NodeShareSettings{.total_bytes = total, .claim = claim, .floor_bytes = kFloor});
  }
  /// Grows a mount by 8 MiB at a time as far as it gets.
  static uint64_t GrowToTheEnd(NodeShare& share) {
    while (share.Grow(share.granted() + 8 * kMiB)) {
    }
    return share.granted();
  }
  /// A second passes for a mount that keeps all it may, and then takes all it gets.
  static void Tick(NodeShare& share) {
    share.Settle(std::min(share.granted(), share.MostToKeep()));
    GrowToTheEnd(share);
  }

  testing::NodeMemoryRig rig_;
  std::unique_ptr<NodeLedger> ledger_;
};

TEST_F(NodeShareTest, OneAloneMayHaveEverything) {
  const auto mount = Mount();
  EXPECT_EQ(GrowToTheEnd(*mount), kTotal);
  EXPECT_TRUE(mount->refused());
  EXPECT_EQ(mount->used_by_all(), kTotal);
}

TEST_F(NodeShareTest, GrowsInStepsAndShrinksToWhatIsHeld) {
  const auto mount = Mount();
  EXPECT_TRUE(mount->Grow(1));
  EXPECT_EQ(mount->granted(), NodeShare::kStepBytes);
  EXPECT_TRUE(mount->Grow(300 * kMiB));
  mount->Settle(100 * kMiB + 1);
  EXPECT_EQ(mount->granted(), 102 * kMiB);
  EXPECT_EQ(mount->used_by_all(), 102 * kMiB);
  mount->Settle(0);
  EXPECT_EQ(mount->used_by_all(), 0u);
}

TEST_F(NodeShareTest, NothingIsGrantedBeyondTheTotalButTheFloor) {
  const auto first = Mount();
  const auto second = Mount();
  GrowToTheEnd(*first);
  EXPECT_FALSE(second->Grow(kFloor + 1));
  EXPECT_TRUE(second->Grow(kFloor));
  EXPECT_FALSE(second->Grow(kFloor + 1));
  EXPECT_EQ(second->granted(), kFloor);
}

TEST_F(NodeShareTest, WhatIsHeldBeyondTheGrantCountsAndIsNotGrantedByThat) {
  const auto first = Mount();
  const auto second = Mount();
  ASSERT_TRUE(first->Grow(900 * kMiB));
  ASSERT_TRUE(second->Grow(100 * kMiB));
  for (int second_passes = 0; second_passes < 3; ++second_passes) {
    first->Settle(932 * kMiB);
    EXPECT_EQ(first->granted(), 900 * kMiB);
    EXPECT_FALSE(first->Grow(901 * kMiB));
    EXPECT_EQ(first->used_by_all(), 1032 * kMiB);
  }
}

TEST_F(NodeShareTest, OneThatIsRefusedGetsItsFairShareWithinTwoLooks) {
  const auto big = Mount();
  const auto small = Mount();
  GrowToTheEnd(*big);
  GrowToTheEnd(*small);
  EXPECT_EQ(small->granted(), kFloor);
  EXPECT_EQ(big->MostToKeep(), kTotal / 2);
  Tick(*big);
  EXPECT_EQ(big->granted(), kTotal / 2);
  Tick(*small);
  EXPECT_GE(small->granted() + 8 * kMiB, kTotal / 2);
  EXPECT_LE(small->used_by_all(), kTotal);
}

TEST_F(NodeShareTest, ManyThatWantEverythingEndWithEqualParts) {
  std::vector<std::unique_ptr<NodeShare>> mounts;
  for (int i = 0; i < 5; ++i) {
    mounts.push_back(Mount());
    for (int ticks = 0; ticks < 4; ++ticks) {
      for (const auto& mount : mounts) Tick(*mount);
      EXPECT_LE(mounts[0]->used_by_all(), kTotal + kFloor);
    }
    const uint64_t fair = kTotal / mounts.size();
    for (const auto& mount : mounts) {
      EXPECT_GE(mount->granted() + 8 * kMiB, fair) << mounts.size();
      EXPECT_LE(mount->granted(), fair) << mounts.size();
    }
    EXPECT_LE(mounts[0]->used_by_all(), kTotal);
  }
}

TEST_F(NodeShareTest, WhoWantsNoMoreLeavesItsPartToTheOthers) {
  const auto big = Mount();
  const auto small = Mount();
  GrowToTheEnd(*big);
  GrowToTheEnd(*small);
  // Refused, and content with what it has since.
  small->Settle(small->granted());
  EXPECT_EQ(big->MostToKeep(), kTotal / 2);
  small->Settle(small->granted());
  EXPECT_EQ(big->MostToKeep(), kTotal - kFloor);
  EXPECT_FALSE(small->refused());
  big->Settle(big->granted());
  small->Settle(0);
  EXPECT_EQ(GrowToTheEnd(*big), kTotal);
}

TEST_F(NodeShareTest, FirmClaimsAreGrantedAndLeaveLessToShare) {
  const auto first = Mount();
  const auto second = Mount();
  const auto firm = Mount(Claim::kFirm);
  GrowToTheEnd(*first);
  EXPECT_TRUE(firm->Grow(600 * kMiB));
  firm->Settle(600 * kMiB);
  EXPECT_EQ(firm->MostToKeep(), UINT64_MAX);
  GrowToTheEnd(*second);
  for (int ticks = 0; ticks < 2; ++ticks) {
    Tick(*first);
    Tick(*second);
  }
  EXPECT_EQ(first->granted(), 200 * kMiB);
  EXPECT_EQ(second->granted(), 200 * kMiB);
  EXPECT_TRUE(firm->Grow(2000 * kMiB));
  Tick(*first);
  EXPECT_GE(first->granted(), kFloor);
}

TEST_F(NodeShareTest, WhatFloorsTakeBeyondTheTotalThoseWithMoreGiveBack) {
  const auto big = Mount();
  const auto content = Mount();
  GrowToTheEnd(*big);
  EXPECT_TRUE(content->Grow(kFloor));
  EXPECT_EQ(content->MostToKeep(), kTotal / 2);
  EXPECT_EQ(big->MostToKeep(), kTotal - kFloor);
  Tick(*big);
  EXPECT_EQ(big->used_by_all(), kTotal);
  EXPECT_EQ(big->MostToKeep(), UINT64_MAX);
}

TEST_F(NodeShareTest, OneAloneIsNotAskedToGiveBackForWhatItsSlabsTake) {
  const auto mount = Mount();
  GrowToTheEnd(*mount);
  mount->Settle(kTotal + 50 * kMiB);
  EXPECT_EQ(mount->MostToKeep(), UINT64_MAX);
  mount->Settle(900 * kMiB);
  mount->Settle(kTotal + 50 * kMiB);
  EXPECT_TRUE(mount->Grow(kTotal));
}

TEST_F(NodeShareTest, WithoutAPlaceThereIsTheFloor) {
  std::vector<NodeLedger::Place> places;
  for (size_t i = 0; i < NodeLedger::kEntries; ++i) places.push_back(ledger_->Take(0, Claim::kShared));
  const auto mount = Mount();
  EXPECT_EQ(GrowToTheEnd(*mount), kFloor);
  const auto firm = Mount(Claim::kFirm);
  EXPECT_TRUE(firm->Grow(300 * kMiB));
}

TEST_F(NodeShareTest, ItsEndGivesEverythingBack) {
  auto first = Mount();
  const auto second = Mount();
  GrowToTheEnd(*first);
  first.reset();
  EXPECT_EQ(GrowToTheEnd(*second), kTotal);
}

TEST_F(NodeShareTest, ThreadsOfSeveralMountsNeverGetMoreThanTheTotal) {
  constexpr int kMounts = 4;
  std::vector<std::unique_ptr<NodeShare>> mounts;
  for (int i = 0; i < kMounts; ++i) {
    mounts.push_back(Mount());
    ASSERT_TRUE(mounts.back()->Grow(kFloor));
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 2 * kMounts; ++i)
    threads.emplace_back([&mounts, i] { GrowToTheEnd(*mounts[static_cast<size_t>(i) % kMounts]); });
  for (std::thread& thread : threads) thread.join();
  uint64_t granted = 0;
  for (const auto& mount : mounts) granted += mount->granted();
  EXPECT_LE(granted, kTotal);
  EXPECT_EQ(mounts[0]->used_by_all(), granted);
}

}  // namespace
}  // namespace bucketvol
