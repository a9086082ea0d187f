#include "gtest/gtest.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {
namespace {

TEST(CancellationTest, RunsEveryActionOnce) {
  Cancellation cancellation;
  int single = 0, first = 0, second = 0;
  cancellation.OnCancel([&] { ++single; });
  cancellation.AddAction([&] { ++first; });
  cancellation.AddAction([&] { ++second; });
  EXPECT_FALSE(cancellation.cancelled());
  cancellation.Cancel();
  cancellation.Cancel();
  EXPECT_TRUE(cancellation.cancelled());
  EXPECT_EQ(single, 1);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST(CancellationTest, ALaterOnCancelReplacesTheAction) {
  Cancellation cancellation;
  int replaced = 0, kept = 0;
  cancellation.OnCancel([&] { ++replaced; });
  cancellation.OnCancel([&] { ++kept; });
  cancellation.Cancel();
  EXPECT_EQ(replaced, 0);
  EXPECT_EQ(kept, 1);
}

TEST(CancellationTest, RemovedActionsDoNotRun) {
  Cancellation cancellation;
  int removed = 0, kept = 0;
  cancellation.OnCancel([&] { ++removed; });
  cancellation.OnCancel({});
  const uint64_t id = cancellation.AddAction([&] { ++removed; });
  cancellation.AddAction([&] { ++kept; });
  cancellation.RemoveAction(id);
  cancellation.RemoveAction(id);
  cancellation.Cancel();
  EXPECT_EQ(removed, 0);
  EXPECT_EQ(kept, 1);
}

TEST(CancellationTest, ActionsOfACancelledOneRunAtOnce) {
  Cancellation cancellation;
  cancellation.Cancel();
  int runs = 0;
  cancellation.OnCancel([&] { ++runs; });
  cancellation.RemoveAction(cancellation.AddAction([&] { ++runs; }));
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace bucketvol
