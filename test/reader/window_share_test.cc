#include "mounter/reader/window_share.h"

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(WindowShareTest, EachStreamHasAnEqualPartAndWhatOthersLeave) {
  WindowShare share(64 * kMiB);
  EXPECT_EQ(share.LimitFor(0), 64 * kMiB);
  share.Add(4, static_cast<int64_t>(10 * kMiB));
  EXPECT_EQ(share.LimitFor(10 * kMiB), 64 * kMiB);
  EXPECT_EQ(share.LimitFor(0), 54 * kMiB);
  share.Add(0, static_cast<int64_t>(50 * kMiB));
  EXPECT_EQ(share.LimitFor(kMiB), 16 * kMiB) << "a fourth, although others have taken nearly all";
  share.Add(-3, -static_cast<int64_t>(60 * kMiB));
  EXPECT_EQ(share.LimitFor(0), 64 * kMiB);
}

TEST(WindowShareTest, PressureHalvesTheCapOfAllAndTimeGivesItBack) {
  WindowShare share(64 * kMiB);
  share.OnPressure();
  EXPECT_EQ(share.LimitFor(60 * kMiB), 32 * kMiB);
  share.Relax();
  EXPECT_EQ(share.LimitFor(60 * kMiB), 40 * kMiB);
  for (int i = 0; i < 20; ++i) share.OnPressure();
  EXPECT_EQ(share.LimitFor(60 * kMiB), 2 * kMiB) << "or a reader would stand still between two requests";
  for (int i = 0; i < 60; ++i) share.Relax();
  EXPECT_EQ(share.LimitFor(0), 64 * kMiB);
}

}  // namespace
}  // namespace bucketvol
