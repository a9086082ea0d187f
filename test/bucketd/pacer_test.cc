#include "test/bucketd/pacer.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bucketvol::bucketd {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1'000 * kMs;
constexpr uint64_t kRate = 50'000'000;

TEST(PacerTest, APieceTakesItsTime) {
  Pacer pacer;
  pacer.Restart(kSecond);
  const Pacer::Passage passage = pacer.Reserve(100'000, kRate, kSecond);
  EXPECT_EQ(passage.begin, kSecond);
  EXPECT_EQ(passage.end, kSecond + 2 * kMs);
}

TEST(PacerTest, PiecesFollowEachOther) {
  Pacer pacer;
  pacer.Restart(0);
  pacer.Reserve(100'000, kRate, 0);
  EXPECT_EQ(pacer.Reserve(100'000, kRate, 0).begin, 2 * kMs);
  EXPECT_EQ(pacer.Reserve(50'000, kRate, kMs).end, 5 * kMs);
}

TEST(PacerTest, LateSendersCatchUpALittle) {
  Pacer pacer;
  pacer.Restart(kSecond);
  EXPECT_EQ(pacer.Reserve(1, kRate, kSecond + kMs).begin, kSecond);
  EXPECT_EQ(pacer.Reserve(1, kRate, 2 * kSecond).begin, 2 * kSecond - Pacer::kSlackNs);
}

// Whatever happened before: after a restart nothing is caught up, so that an answer after a long delay is as
// slow as any.
TEST(PacerTest, ARestartForgivesAndForgets) {
  Pacer pacer;
  pacer.Reserve(100 * kRate, kRate, 0);
  pacer.Restart(kSecond);
  EXPECT_EQ(pacer.Reserve(100'000, kRate, kSecond).end, kSecond + 2 * kMs);
}

TEST(PacerTest, SlicesAreShort) {
  EXPECT_EQ(Pacer::SliceBytes(50'000'000), 200'000u);
  EXPECT_EQ(Pacer::SliceBytes(10), 1u);
}

// Hundreds of users that come back when they may send: the sum is the rate, and each gets its share.
TEST(PacerTest, ManyUsersShareTheRate) {
  constexpr int kUsers = 1000;
  constexpr uint64_t kPiece = 128 * 1024;
  Pacer pacer;
  int64_t next[kUsers] = {};
  uint64_t sent[kUsers] = {};
  uint64_t total = 0;
  for (int64_t now = kSecond; now < 21 * kSecond; now += kMs / 5) {
    for (int user = 0; user < kUsers; ++user) {
      if (next[user] > now) continue;
      if (next[user] != 0) sent[user] += kPiece, total += kPiece;
      next[user] = std::max<int64_t>(pacer.Reserve(kPiece, 8 * kRate, now).begin, 1);
    }
  }
  EXPECT_NEAR(static_cast<double>(total), 20.0 * 8 * kRate, 0.01 * 20 * 8 * kRate);
  const auto [least, most] = std::minmax_element(std::begin(sent), std::end(sent));
  EXPECT_LE(*most - *least, 2 * kPiece);
}

}  // namespace
}  // namespace bucketvol::bucketd
