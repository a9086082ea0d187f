#include "mounter/prefetch/order_follower.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "test/prefetch/shuffles.h"

namespace bucketvol {
namespace {

std::shared_ptr<const ObjectOrder> OrderOf(std::vector<uint32_t> ordinals) {
  return std::make_shared<const ObjectOrder>(std::move(ordinals));
}

/// What an epoch brought.
struct Epoch {
  size_t fetched = 0;  // Ahead.
  size_t waited = 0;   // Objects that nobody had fetched ahead.
  size_t unused = 0;   // Fetched, and read by nobody.
};

/// Replays touches; what was fetched ahead is there at once, or on its way when the next reader comes.
Epoch Replay(OrderFollower& follower, const std::vector<uint32_t>& touches,
             absl::Duration now = absl::ZeroDuration()) {
  Epoch epoch;
  std::set<uint64_t> fetched;
  std::set<uint64_t> read;
  for (const uint32_t ordinal : touches) {
    const bool ahead = fetched.contains(ordinal);
    epoch.waited += ahead ? 0 : 1;
    std::vector<uint64_t> next;
    follower.OnTouch(ordinal, ahead ? Stall::kInflight : Stall::kAbsent, now, next);
    fetched.insert(next.begin(), next.end());
    read.insert(ordinal);
  }
  epoch.fetched = fetched.size();
  for (const uint64_t ordinal : fetched) epoch.unused += read.contains(ordinal) ? 0 : 1;
  return epoch;
}

/// What an epoch brings to whom `recorded` tells the order.
Epoch Follow(std::vector<uint32_t> recorded, const std::vector<uint32_t>& touches) {
  OrderFollower follower(OrderOf(std::move(recorded)), OrderTrust::kProven);
  return Replay(follower, touches);
}

std::vector<uint32_t> From(const std::vector<uint32_t>& order, size_t begin) {
  return {order.begin() + static_cast<long>(begin), order.end()};
}

TEST(ObjectOrder, FindsEveryObjectAndNoOther) {
  for (const size_t count : {1, 2, 7, 1'000, 100'000}) {
    std::vector<uint32_t> ordinals = Permutation(count, 1);
    for (uint32_t& ordinal : ordinals) ordinal *= 3;
    const ObjectOrder order(ordinals);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(order.PositionOf(ordinals[i]), i);
      ASSERT_EQ(order.PositionOf(uint64_t{ordinals[i]} + 1), std::nullopt);
      ASSERT_EQ(order.PositionOf(uint64_t{ordinals[i]} + (uint64_t{1} << 32)), std::nullopt);
    }
  }
  EXPECT_EQ(ObjectOrder({}).PositionOf(0), std::nullopt);
}

TEST(ObjectOrder, AnObjectThatStandsTwiceCountsOnce) {
  const ObjectOrder order({7, 5, 7, 3, 5});
  EXPECT_EQ(order.ordinals(), (std::vector<uint32_t>{7, 5, 3}));
  EXPECT_EQ(order.PositionOf(3), 2);
}

TEST(OrderFollower, TheSameOrderIsFollowedFromItsBeginning) {
  for (const size_t count : {100, 1'000, 100'000}) {
    const std::vector<uint32_t> order = Permutation(count, 1);
    const Epoch epoch = Follow(order, order);
    EXPECT_LE(epoch.waited, 40) << count;
    EXPECT_EQ(epoch.unused, 0) << count;
  }
}

TEST(OrderFollower, AgainInTheNextEpoch) {
  const std::vector<uint32_t> order = Permutation(1'000, 1);
  OrderFollower follower(OrderOf(order), OrderTrust::kProven);
  for (int epoch = 0; epoch < 5; ++epoch) EXPECT_LE(Replay(follower, order).waited, 40) << epoch;
}

TEST(OrderFollower, WorkersThatTakeBatchesInTurnAreFollowed) {
  for (const size_t workers : {2, 4, 8}) {
    for (const size_t batch : {8, 32, 64}) {
      const std::vector<uint32_t> order = Permutation(50'000, 1);
      // Neither the recording nor the epoch is the order of the sampler.
      const Epoch epoch =
          Follow(ReadByWorkers(order, workers, batch, 2), ReadByWorkers(order, workers, batch, 3));
      EXPECT_LE(epoch.waited, 50'000 * 0.03) << workers << " workers, batches of " << batch;
      EXPECT_LE(epoch.unused, 1'000) << workers << " workers, batches of " << batch;
    }
  }
}

TEST(OrderFollower, WorkersAreFollowedThroughFewFiles) {
  for (const size_t workers : {2, 4, 8}) {
    for (const size_t batch : {4, 8, 32}) {
      const std::vector<uint32_t> order = Permutation(1'000, 1);
      const Epoch epoch =
          Follow(ReadByWorkers(order, workers, batch, 2), ReadByWorkers(order, workers, batch, 3));
      EXPECT_LE(epoch.waited, 150) << workers << " workers, batches of " << batch;
    }
  }
}

TEST(OrderFollower, ManyReadersOfOneListAreFollowed) {
  const std::vector<uint32_t> order = Permutation(100'000, 1);
  const Epoch epoch = Follow(ReadByWorkers(order, 128, 1, 2), ReadByWorkers(order, 128, 1, 3));
  EXPECT_LE(epoch.waited, 10'000);
}

TEST(OrderFollower, AnotherPermutationFetchesNothing) {
  for (const size_t count : {200, 500, 1'000, 2'000, 5'000, 50'000}) {
    OrderFollower follower(OrderOf(Permutation(count, 1)), OrderTrust::kProven);
    for (unsigned seed = 2; seed < 12; ++seed)
      EXPECT_EQ(Replay(follower, Permutation(count, seed)).fetched, 0) << count << " " << seed;
  }
}

TEST(OrderFollower, AStartInTheMiddleIsFollowed) {
  const std::vector<uint32_t> order = Permutation(10'000, 1);
  const Epoch epoch = Follow(order, From(order, 5'000));
  EXPECT_LE(epoch.waited, 40);
  EXPECT_EQ(epoch.unused, 0);
}

TEST(OrderFollower, MissingAndForeignTouchesDoNotEndIt) {
  const std::vector<uint32_t> order = Permutation(10'000, 1);
  std::vector<uint32_t> touches;
  std::mt19937 random(2);
  for (const uint32_t ordinal : order) {
    if (random() % 10 == 0) continue;  // The kernel has it.
    touches.push_back(ordinal);
    if (random() % 10 == 0) touches.push_back(20'000 + static_cast<uint32_t>(random() % 1'000));
  }
  const Epoch epoch = Follow(order, touches);
  EXPECT_GE(epoch.fetched, 9'900);
  EXPECT_LE(epoch.unused, 1'100);
}

TEST(OrderFollower, OtherDataFetchesNothing) {
  std::vector<uint32_t> other = Permutation(10'000, 2);
  for (uint32_t& ordinal : other) ordinal += 10'000;
  OrderFollower follower(OrderOf(Permutation(10'000, 1)), OrderTrust::kProven);
  std::vector<uint64_t> ahead;
  for (const uint32_t ordinal : other) EXPECT_FALSE(follower.OnTouch(ordinal, Stall::kAbsent, {}, ahead));
  EXPECT_TRUE(ahead.empty());
}

TEST(OrderFollower, IsLeftWhereReadersTurnToAnotherOrder) {
  const std::vector<uint32_t> order = Permutation(10'000, 1);
  OrderFollower follower(OrderOf(order), OrderTrust::kProven);
  std::vector<uint32_t> touches(order.begin(), order.begin() + 1'000);
  Replay(follower, touches);
  const uint64_t before = follower.fetched();
  Replay(follower, Permutation(10'000, 2));
  EXPECT_LE(follower.fetched(), before + 10);
}

TEST(OrderFollower, ATrustedOrderIsFollowedFromAnyTouch) {
  const std::vector<uint32_t> order = Permutation(1'000, 1);
  OrderFollower follower(OrderOf(order), OrderTrust::kAtFirst);
  std::vector<uint64_t> ahead;
  EXPECT_TRUE(follower.OnTouch(order[500], Stall::kAbsent, {}, ahead));
  EXPECT_EQ(ahead, std::vector<uint64_t>(order.begin() + 501, order.begin() + 509));
  EXPECT_LE(Replay(follower, From(order, 501)).waited, 10);
}

TEST(OrderFollower, ATrustedOrderThatReadersDoNotTakeIsLeft) {
  OrderFollower follower(OrderOf(Permutation(50'000, 1)), OrderTrust::kAtFirst);
  Replay(follower, Permutation(50'000, 2));
  EXPECT_LE(follower.fetched(), 32 * 8);
}

}  // namespace
}  // namespace bucketvol
