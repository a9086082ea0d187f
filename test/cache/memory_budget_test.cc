#include "mounter/cache/memory_budget.h"

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

TEST(MemoryBudgetTest, CountsWhatIsReservedSplitAndGivenBack) {
  MemoryBudget budget(100);
  Reservation first;
  ASSERT_TRUE(budget.TryReserve(60, first));
  Reservation second;
  EXPECT_FALSE(budget.TryReserve(41, second));
  second = budget.ReserveBeyondLimit(50);
  EXPECT_EQ(budget.used(), 110u);
  Reservation part = first.Split(20);
  first.Reset();
  EXPECT_EQ(budget.used(), 70u);
  part = std::move(second);
  EXPECT_EQ(budget.used(), 50u);
  part.Reset();
  part.Reset();
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace bucketvol
