#include "mounter/prefetch/order_recorder.h"

#include <gtest/gtest.h>

#include <vector>

#include "test/prefetch/shuffles.h"

namespace bucketvol {
namespace {

/// The orders of the epochs that a recorder makes of touches.
std::vector<std::vector<uint32_t>> Record(OrderRecorder& recorder, const std::vector<uint32_t>& touches) {
  std::vector<std::vector<uint32_t>> epochs(1);
  for (const uint32_t ordinal : touches) {
    const OrderRecorder::Step step = recorder.Add(ordinal);
    if (step.new_epoch) epochs.emplace_back();
    epochs.back().insert(epochs.back().end(), step.added.begin(), step.added.end());
  }
  return epochs;
}

void Append(std::vector<uint32_t>& to, const std::vector<uint32_t>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

TEST(OrderRecorder, RecordsEachObjectOnce) {
  OrderRecorder recorder(100, UINT64_MAX);
  EXPECT_EQ(Record(recorder, {5, 3, 5, 7, 3, 99}), (std::vector<std::vector<uint32_t>>{{5, 3, 7, 99}}));
}

TEST(OrderRecorder, TakesRepetitionsAmongNewOnesForNoEpoch) {
  const std::vector<uint32_t> order = Permutation(10'000, 1);
  std::vector<uint32_t> touches;
  for (const uint32_t ordinal : order) Append(touches, {ordinal, ordinal});
  OrderRecorder recorder(10'000, UINT64_MAX);
  EXPECT_EQ(Record(recorder, touches), std::vector<std::vector<uint32_t>>{order});
}

TEST(OrderRecorder, AnEpochEndsWhenReadersBeginAnew) {
  const std::vector<uint32_t> first = Permutation(1'000, 1);
  const std::vector<uint32_t> second = Permutation(1'000, 2);
  std::vector<uint32_t> touches = first;
  Append(touches, second);
  Append(touches, first);
  OrderRecorder recorder(1'000, UINT64_MAX);
  EXPECT_EQ(Record(recorder, touches), (std::vector<std::vector<uint32_t>>{first, second, first}));
}

TEST(OrderRecorder, GoesOnWhereAnotherOneStopped) {
  OrderRecorder recorder(1'000, UINT64_MAX);
  const std::vector<uint32_t> order = Permutation(1'000, 1);
  recorder.Resume({order.data(), 500});
  EXPECT_EQ(recorder.count(), 500);
  EXPECT_EQ(Record(recorder, {order[499], order[500]}), std::vector<std::vector<uint32_t>>{{order[500]}});
  EXPECT_EQ(recorder.count(), 501);
}

TEST(OrderRecorder, RecordsTheBeginningOfALongEpoch) {
  OrderRecorder recorder(1'000, 100);
  const std::vector<uint32_t> order = Permutation(1'000, 1);
  const std::vector<uint32_t> begin(order.begin(), order.begin() + 100);
  EXPECT_EQ(Record(recorder, order), std::vector<std::vector<uint32_t>>{begin});
}

TEST(OrderRecorder, IgnoresWhatTheIndexDoesNotHave) {
  OrderRecorder recorder(10, UINT64_MAX);
  EXPECT_TRUE(recorder.Add(10).added.empty());
  EXPECT_TRUE(recorder.Add(UINT32_MAX).added.empty());
  EXPECT_EQ(recorder.count(), 0);
}

TEST(TakesPlaceOf, AFewObjectsAreNoOrder) {
  EXPECT_FALSE(TakesPlaceOf({.objects = 63}, {}));
  EXPECT_TRUE(TakesPlaceOf({.objects = 64}, {}));
}

TEST(TakesPlaceOf, TheSameOrderOnlyWithMoreObjects) {
  const RecordedEpoch kept{.objects = 1'000};
  EXPECT_FALSE(TakesPlaceOf({.objects = 999, .followed = 900}, kept));
  EXPECT_FALSE(TakesPlaceOf({.objects = 1'000, .followed = 900}, kept));
  EXPECT_TRUE(TakesPlaceOf({.objects = 1'001, .followed = 900}, kept));
}

TEST(TakesPlaceOf, AnotherOrderUnlessItIsMuchShorter) {
  const RecordedEpoch kept{.objects = 1'000};
  EXPECT_FALSE(TakesPlaceOf({.objects = 749}, kept));
  EXPECT_TRUE(TakesPlaceOf({.objects = 750}, kept));
}

TEST(TakesPlaceOf, TheFirstEpochOfARunStays) {
  const RecordedEpoch kept{.objects = 1'000, .of_this_run = true};
  EXPECT_FALSE(TakesPlaceOf({.objects = 1'000}, kept));
  EXPECT_TRUE(TakesPlaceOf({.objects = 1'001}, kept));
}

}  // namespace
}  // namespace bucketvol
