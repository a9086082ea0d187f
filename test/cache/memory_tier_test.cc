#include "mounter/cache/memory_tier.h"

#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/cache/node_memory_rig.h"
#include "test/support/fake_clock.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kBlock = 64 << 10;

/// A block that says when it leaves, and frees its memory then.
struct Entry final : Resident {
  Entry(Of of, int name, std::vector<int>& order) : Resident(of), number(name), evicted(order) {}
  void OnEvicted() override {
    evicted.push_back(number);
    buffer.reset();
  }
  const int number;
  std::vector<int>& evicted;
  std::optional<BlockBuffer> buffer;
};

/// Eight blocks fit, two of them passed ones.
class MemoryTierTest : public ::testing::Test {
 protected:
  ~MemoryTierTest() override { tier_.Clear(); }
  /// Puts a block in; false if there is no room.
  bool Fill(int number, Resident::Of of = Resident::Of::kParts, Evict evict = Evict::kAny) {
    Reservation reservation;
    if (!tier_.Reserve(kBlock, evict, reservation)) return false;
    auto entry = std::make_shared<Entry>(of, number, evicted_);
    entry->buffer.emplace(tier_.NewBuffer(kBlock, std::move(reservation)));
    entry->buffer->Append(std::string(100, 'x'));
    entries_.push_back(entry);
    tier_.Add({entry});
    return true;
  }
  void Read(int number, BlockRead read) {
    for (const std::shared_ptr<Entry>& entry : entries_) {
      if (entry->number == number) tier_.OnRead({{entry.get(), read}});
    }
  }
  std::vector<int> Evicted() { return std::exchange(evicted_, {}); }

  testing::FakeClock clock_;
  MemoryTier tier_{clock_, {.limit_bytes = 8 * kBlock, .block_bytes = kBlock, .passed_bytes = 2 * kBlock}};
  std::vector<int> evicted_;
  std::vector<std::shared_ptr<Entry>> entries_;
};

TEST_F(MemoryTierTest, WhatNobodyHasReadStaysBeforeWhatIsFetchedAhead) {
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(Fill(i, Resident::Of::kParts, Evict::kRead));
  EXPECT_FALSE(Fill(8, Resident::Of::kParts, Evict::kRead));
  EXPECT_THAT(Evicted(), IsEmpty());
  Read(3, BlockRead::kPart);
  EXPECT_TRUE(Fill(9, Resident::Of::kParts, Evict::kRead));
  EXPECT_THAT(Evicted(), ElementsAre(3));
}

TEST_F(MemoryTierTest, ForAReaderTheLastOfWhatWasFetchedAheadLeaves) {
  for (int i = 0; i < 8; ++i) Fill(i);
  EXPECT_TRUE(Fill(8, Resident::Of::kParts, Evict::kAny));
  EXPECT_THAT(Evicted(), ElementsAre(7));
}

TEST_F(MemoryTierTest, PassedBlocksLeaveFirstAndSoonEvenWhereThereIsRoom) {
  for (int i = 0; i < 4; ++i) Fill(i);
  Read(0, BlockRead::kPart);
  for (int i = 1; i < 4; ++i) Read(i, BlockRead::kRest);
  EXPECT_THAT(Evicted(), ElementsAre(1));
  for (int i = 4; i < 9; ++i) Fill(i);
  EXPECT_THAT(Evicted(), IsEmpty());
  Fill(9);
  EXPECT_THAT(Evicted(), ElementsAre(2));
}

TEST_F(MemoryTierTest, APassedBlockThatIsReadAgainIsCached) {
  for (int i = 0; i < 8; ++i) Fill(i);
  Read(0, BlockRead::kRest);
  Read(1, BlockRead::kRest);
  Read(0, BlockRead::kAgain);
  Fill(8);
  Fill(9);
  EXPECT_THAT(Evicted(), ElementsAre(1, 0));
}

TEST_F(MemoryTierTest, ASmallObjectThatWasReadToItsEndIsPassedToo) {
  for (int i = 0; i < 4; ++i) Fill(i, Resident::Of::kWhole);
  Read(0, BlockRead::kPart);
  for (int i = 1; i < 4; ++i) Read(i, BlockRead::kRest);
  EXPECT_THAT(Evicted(), ElementsAre(1));
}

// The order of SIEVE: visited blocks keep their place and are passed over once.
TEST_F(MemoryTierTest, CachedBlocksLeaveInTheOrderOfSieve) {
  for (int i = 0; i < 8; ++i) {
    Fill(i, Resident::Of::kWhole);
    Read(i, BlockRead::kPart);
  }
  for (const int i : {0, 1, 4}) Read(i, BlockRead::kAgain);
  for (int i = 8; i < 12; ++i) {
    Fill(i, Resident::Of::kWhole);
    Read(i, BlockRead::kPart);
  }
  EXPECT_THAT(Evicted(), ElementsAre(2, 3, 5, 6));
  for (int i = 12; i < 18; ++i) {
    Fill(i, Resident::Of::kWhole);
    Read(i, BlockRead::kPart);
  }
  EXPECT_THAT(Evicted(), ElementsAre(7, 8, 9, 10, 11, 12));
}

TEST_F(MemoryTierTest, ARemovedBlockIsForgottenWheneverItComes) {
  Fill(0);
  EXPECT_EQ(tier_.Remove(*entries_[0]), entries_[0]);
  EXPECT_EQ(tier_.Remove(*entries_[0]), nullptr);
  auto late = std::make_shared<Entry>(Resident::Of::kParts, 1, evicted_);
  EXPECT_EQ(tier_.Remove(*late), nullptr);
  tier_.Add({late});
  tier_.Clear();
  EXPECT_THAT(Evicted(), IsEmpty());
}

TEST_F(MemoryTierTest, ABlockReadBeforeItCameInIsNotAhead) {
  auto early = std::make_shared<Entry>(Resident::Of::kParts, 5, evicted_);
  tier_.OnRead({{early.get(), BlockRead::kPart}});
  tier_.Add({early});
  Reservation reservation;
  EXPECT_TRUE(tier_.Reserve(8 * kBlock, Evict::kRead, reservation));
  Reservation more;
  EXPECT_FALSE(tier_.Reserve(kBlock, Evict::kRead, more));
  EXPECT_THAT(Evicted(), ElementsAre(5));
}

TEST_F(MemoryTierTest, WhatIsIdleLeavesAfterItsTime) {
  Fill(0, Resident::Of::kParts);
  Fill(1, Resident::Of::kParts);
  Fill(2, Resident::Of::kWhole);
  Read(1, BlockRead::kPart);
  for (int second = 1; second <= 10; ++second) {
    clock_.Advance(absl::Seconds(1));
    if (second == 5) Read(1, BlockRead::kAgain);
    tier_.ReleaseIdle();
  }
  EXPECT_THAT(Evicted(), IsEmpty());
  clock_.Advance(absl::Seconds(5));
  tier_.ReleaseIdle();
  EXPECT_THAT(Evicted(), ElementsAre(1));
  clock_.Advance(absl::Seconds(15));
  tier_.ReleaseIdle();
  EXPECT_THAT(Evicted(), ElementsAre(2));
  clock_.Advance(absl::Seconds(30));
  tier_.ReleaseIdle();
  EXPECT_THAT(Evicted(), ElementsAre(0));
  clock_.Advance(absl::Seconds(10));
  tier_.ReleaseIdle();
  EXPECT_EQ(tier_.mapped_bytes(), 0u);
  EXPECT_EQ(tier_.budget().used(), 0u);
}

TEST_F(MemoryTierTest, ASmallBlockCostsAQuarter) {
  EXPECT_EQ(tier_.Charge(1), kBlock / 4);
  EXPECT_EQ(tier_.Charge(kBlock / 4), kBlock / 4);
  EXPECT_EQ(tier_.Charge(kBlock / 4 + 1), kBlock);
}

/// A tier of 64 MiB in a node of 32 MiB, 2 MiB of them for each mount at least; a block is 1 MiB.
class MemoryTierOfANodeTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kMiB = 1 << 20;

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ledger_, rig_.Map());
    const NodeShareSettings settings{.total_bytes = 32 * kMiB, .floor_bytes = 2 * kMiB};
    share_ = std::make_unique<NodeShare>(*ledger_, settings);
    other_ = std::make_unique<NodeShare>(*ledger_, settings);
    tier_ = std::make_unique<MemoryTier>(
        clock_, MemoryTierSettings{.limit_bytes = 64 * kMiB, .block_bytes = kMiB, .node = share_.get()});
  }
  void TearDown() override { tier_->Clear(); }
  bool Fill(Evict evict = Evict::kRead) {
    Reservation reservation;
    if (!tier_->Reserve(kMiB, evict, reservation)) return false;
    entries_.push_back(std::make_shared<Entry>(Resident::Of::kParts, 0, evicted_));
    entries_.back()->buffer.emplace(tier_->NewBuffer(kMiB, std::move(reservation)));
    tier_->Add({entries_.back()});
    return true;
  }
  void FillAll() {
    while (Fill()) {
    }
  }
  void ReadAll() {
    for (const std::shared_ptr<Entry>& entry : entries_) tier_->OnRead({{entry.get(), BlockRead::kPart}});
  }
  uint64_t UsedMiB() const { return tier_->budget().used() / kMiB; }

  testing::NodeMemoryRig rig_;
  testing::FakeClock clock_;
  std::unique_ptr<NodeLedger> ledger_;
  std::unique_ptr<NodeShare> share_;
  std::unique_ptr<NodeShare> other_;
  std::unique_ptr<MemoryTier> tier_;
  std::vector<int> evicted_;
  std::vector<std::shared_ptr<Entry>> entries_;
};

TEST_F(MemoryTierOfANodeTest, WhatTheNodeRefusesBlocksThatWereReadMakeRoomFor) {
  EXPECT_EQ(tier_->budget().in_reach(), 64 * kMiB);
  FillAll();
  EXPECT_EQ(UsedMiB(), 32u);
  EXPECT_EQ(tier_->budget().in_reach(), 32 * kMiB);
  ReadAll();
  EXPECT_TRUE(Fill());
  EXPECT_EQ(UsedMiB(), 32u);
  EXPECT_EQ(evicted_.size(), 1u);
}

TEST_F(MemoryTierOfANodeTest, GivesBackToAnotherOneWhatWasReadAndItsSlabs) {
  FillAll();
  ReadAll();
  ASSERT_TRUE(other_->Grow(2 * kMiB));
  ASSERT_FALSE(other_->Grow(8 * kMiB));
  tier_->ReleaseIdle();
  EXPECT_EQ(UsedMiB(), 16u);
  EXPECT_EQ(tier_->mapped_bytes(), 16 * kMiB);
  EXPECT_TRUE(other_->Grow(16 * kMiB));
  EXPECT_TRUE(Fill());  // In the place of another block.
  EXPECT_EQ(UsedMiB(), 16u);
}

TEST_F(MemoryTierOfANodeTest, WhatNobodyHasReadStaysForOneLookMore) {
  FillAll();
  ASSERT_TRUE(other_->Grow(2 * kMiB));
  ASSERT_FALSE(other_->Grow(8 * kMiB));
  tier_->ReleaseIdle();
  EXPECT_EQ(UsedMiB(), 32u);
  tier_->ReleaseIdle();
  EXPECT_EQ(UsedMiB(), 16u);
}

TEST_F(MemoryTierOfANodeTest, WhatGoesBeyondCountsForTheOthersUntilItIsTrimmed) {
  FillAll();
  ReadAll();
  Reservation beyond = tier_->ReserveBeyondLimit(4 * kMiB);
  tier_->ReleaseIdle();
  EXPECT_EQ(share_->used_by_all(), 36 * kMiB);
  tier_->Trim();
  EXPECT_EQ(UsedMiB(), 32u);
}

TEST_F(MemoryTierOfANodeTest, AnIdleOneHoldsNothing) {
  FillAll();
  ReadAll();
  for (int second = 0; second < 25; ++second) {
    clock_.Advance(absl::Seconds(1));
    tier_->ReleaseIdle();
  }
  EXPECT_EQ(share_->used_by_all(), 0u);
  EXPECT_EQ(tier_->mapped_bytes(), 0u);
  EXPECT_EQ(tier_->budget().in_reach(), 64 * kMiB);
}

}  // namespace
}  // namespace bucketvol
