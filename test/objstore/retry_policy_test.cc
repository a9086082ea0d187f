#include "mounter/objstore/retry_policy.h"

#include "gtest/gtest.h"
#include "mounter/objstore/store_error.h"

namespace bucketvol {
namespace {

const UniformRandom kAlmostOne = [] { return 0.999999; };

absl::Duration Ceiling(const absl::Status& status, int attempts) {
  RetrySettings settings;
  settings.max_attempts = 100;
  settings.budget = absl::Hours(1);
  const auto delay = DelayBeforeRetry(settings, status, attempts, absl::ZeroDuration(), true, kAlmostOne);
  return absl::Ceil(delay.value(), absl::Milliseconds(1));
}

TEST(RetryPolicyTest, DelaysDoubleUpToALimit) {
  const absl::Status trouble = absl::UnavailableError("reset");
  EXPECT_EQ(Ceiling(trouble, 1), absl::Milliseconds(100));
  EXPECT_EQ(Ceiling(trouble, 2), absl::Milliseconds(200));
  EXPECT_EQ(Ceiling(trouble, 5), absl::Milliseconds(1600));
  EXPECT_EQ(Ceiling(trouble, 50), absl::Seconds(20));
}

TEST(RetryPolicyTest, ThrottlingBeginsAtASecond) {
  const absl::Status throttled =
      MakeStoreStatus(absl::StatusCode::kResourceExhausted, "c", {.retryable = true, .throttled = true});
  EXPECT_EQ(Ceiling(throttled, 1), absl::Seconds(1));
  EXPECT_EQ(Ceiling(throttled, 3), absl::Seconds(4));
}

TEST(RetryPolicyTest, FullJitter) {
  const auto delay =
      DelayBeforeRetry({}, absl::UnavailableError("x"), 1, absl::ZeroDuration(), true, [] { return 0.25; });
  EXPECT_EQ(delay, absl::Milliseconds(25));
}

TEST(RetryPolicyTest, GivesUp) {
  RetrySettings settings;
  settings.max_attempts = 4;
  settings.budget = absl::Seconds(10);
  const absl::Status trouble = absl::UnavailableError("reset");
  const auto retried = [&](const absl::Status& status, int attempts, absl::Duration elapsed,
                           bool ever_answered) {
    return DelayBeforeRetry(settings, status, attempts, elapsed, ever_answered, kAlmostOne).has_value();
  };
  EXPECT_TRUE(retried(trouble, 3, absl::Seconds(9), true));
  EXPECT_FALSE(retried(trouble, 4, absl::Seconds(1), true)) << "attempts";
  EXPECT_FALSE(retried(trouble, 1, absl::Seconds(10), true)) << "budget";
  EXPECT_FALSE(retried(absl::NotFoundError("x"), 1, absl::ZeroDuration(), true)) << "final";
  EXPECT_FALSE(retried(absl::CancelledError("x"), 1, absl::ZeroDuration(), true)) << "cancelled";
  EXPECT_TRUE(retried(trouble, 2, absl::ZeroDuration(), false));
  EXPECT_FALSE(retried(trouble, 3, absl::ZeroDuration(), false)) << "never answered";
  settings.first_contact_attempts = 0;
  EXPECT_TRUE(retried(trouble, 3, absl::ZeroDuration(), false)) << "no such limit";
}

}  // namespace
}  // namespace bucketvol
