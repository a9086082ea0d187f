#include "mounter/objstore/duration_histogram.h"

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

TEST(DurationHistogramTest, KnowsNothingAtFirst) {
  const DurationHistogram histogram(100);
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_EQ(histogram.Quantile(0.5), absl::ZeroDuration());
}

TEST(DurationHistogramTest, ItsQuantilesAreRightToOnePartInEight) {
  DurationHistogram histogram(100'000);
  for (int i = 1; i <= 10'000; ++i) histogram.Add(absl::Microseconds(i * 17));
  for (const double share : {0.01, 0.1, 0.5, 0.9, 0.95, 0.999, 1.0}) {
    const double exact = share * 10'000 * 17;
    const double found = absl::ToDoubleMicroseconds(histogram.Quantile(share));
    EXPECT_GE(found, exact) << share;
    EXPECT_LE(found, exact * 1.126 + 1) << share;
  }
}

TEST(DurationHistogramTest, TakesAnyDuration) {
  DurationHistogram histogram(100);
  histogram.Add(absl::Nanoseconds(-5));
  EXPECT_LE(histogram.Quantile(1), absl::Microseconds(1));
  histogram.Add(absl::Hours(24 * 365));
  EXPECT_GT(histogram.Quantile(1), absl::Minutes(30));
  EXPECT_EQ(histogram.count(), 2);
}

TEST(DurationHistogramTest, ForgetsWhatWasLongAgo) {
  DurationHistogram histogram(100);
  for (int i = 0; i < 200; ++i) histogram.Add(absl::Seconds(1));
  for (int i = 0; i < 1'000; ++i) histogram.Add(absl::Milliseconds(1));
  EXPECT_LE(histogram.count(), 200);
  EXPECT_LT(histogram.Quantile(0.99), absl::Milliseconds(2));
}

}  // namespace
}  // namespace bucketvol
