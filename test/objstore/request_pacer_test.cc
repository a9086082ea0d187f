#include "mounter/objstore/request_pacer.h"

#include <set>

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

constexpr double kUnlimited = RequestPacer::kUnlimited;

// Clients that send one request after the other, each answered after 10 ms, to a service that refuses what is
// more than it bears in a second.
class Simulation {
 public:
  explicit Simulation(double configured, int clients = 32) : pacer_(configured) {
    for (int i = 0; i < clients; ++i) arrivals_.insert(absl::ZeroDuration());
  }

  struct Count {
    int sent = 0;
    int throttled = 0;
  };
  /// What happens in the next seconds.
  Count Run(int seconds, int bears) {
    Count count;
    for (int i = 0; i < seconds; ++i) {
      end_ += absl::Seconds(1);
      int served = 0;
      while (*arrivals_.begin() < end_) Step(served, bears, count);
    }
    return count;
  }
  double rate() const { return pacer_.rate(); }

 private:
  // Clients whose turn comes later than this second wait at the door, as arrivals of then.
  void Step(int& served, int bears, Count& count) {
    const absl::Duration at = *arrivals_.begin();
    arrivals_.erase(arrivals_.begin());
    const absl::Duration turn = at + pacer_.Admit(at);
    pacer_.OnSend(turn);
    ++count.sent;
    const bool throttled = ++served > bears;
    if (throttled) ++count.throttled;
    const absl::Duration answer = turn + absl::Milliseconds(10);
    pacer_.OnAnswer(answer, throttled);
    arrivals_.insert(answer);
  }

  RequestPacer pacer_;
  std::multiset<absl::Duration> arrivals_;
  absl::Duration end_;
};

TEST(RequestPacerTest, WithoutALimitNothingWaits) {
  RequestPacer pacer(kUnlimited);
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(pacer.Admit(absl::ZeroDuration()), absl::ZeroDuration());
}

TEST(RequestPacerTest, KeepsTheConfiguredRate) {
  RequestPacer pacer(100);
  int within_a_second = 0;
  for (int i = 0; i < 1'000; ++i) {
    if (pacer.Admit(absl::Seconds(10)) < absl::Seconds(1)) ++within_a_second;
  }
  EXPECT_GE(within_a_second, 100);
  EXPECT_LE(within_a_second, 111);  // A tenth of a second's worth may go out at once.
}

TEST(RequestPacerTest, SlowRequestsDoNotSaveUp) {
  RequestPacer pacer(10);
  for (int second = 0; second < 100; ++second) pacer.Admit(absl::Seconds(second));
  EXPECT_EQ(pacer.Admit(absl::Seconds(99)), absl::ZeroDuration());
  EXPECT_GT(pacer.Admit(absl::Seconds(99)), absl::ZeroDuration());
}

TEST(RequestPacerTest, ACutIsSevenTenthsOfWhatWasSent) {
  RequestPacer pacer(kUnlimited);
  for (int i = 0; i < 1000; ++i) pacer.OnSend(absl::Milliseconds(i));
  for (int i = 0; i < 100; ++i) pacer.OnAnswer(absl::Milliseconds(999), true);
  EXPECT_NEAR(pacer.rate(), 700, 2);  // One cut, however many answers tell.
}

TEST(RequestPacerTest, FewRefusalsAreLeftToTheRetries) {
  RequestPacer pacer(kUnlimited);
  for (int i = 0; i < 1000; ++i) {
    pacer.OnSend(absl::Milliseconds(i));
    pacer.OnAnswer(absl::Milliseconds(i), i % 100 == 99);
  }
  EXPECT_EQ(pacer.rate(), kUnlimited);
}

TEST(RequestPacerTest, AHandfulOfRefusalsOfAHandfulOfRequestsTellsNothing) {
  RequestPacer pacer(kUnlimited);
  for (int i = 0; i < 4; ++i) {
    pacer.OnSend(absl::Milliseconds(i));
    pacer.OnAnswer(absl::Milliseconds(i), true);
  }
  EXPECT_EQ(pacer.rate(), kUnlimited);
}

TEST(RequestPacerTest, FindsWhatTheServiceBears) {
  Simulation simulation(kUnlimited);
  simulation.Run(10, 500);
  const Simulation::Count count = simulation.Run(100, 500);
  EXPECT_GT(count.sent - count.throttled, 100 * 350);
  EXPECT_LT(count.throttled * 10, count.sent);
}

TEST(RequestPacerTest, TheLimitFallsAwayWhenAllIsQuiet) {
  Simulation simulation(kUnlimited);
  simulation.Run(2, 500);
  EXPECT_LT(simulation.rate(), 2'000);
  simulation.Run(40, 1'000'000);
  EXPECT_EQ(simulation.rate(), kUnlimited);
}

TEST(RequestPacerTest, ComesBackToTheConfiguredRateAndNotBeyond) {
  Simulation simulation(200);
  simulation.Run(5, 20);
  EXPECT_LT(simulation.rate(), 100);
  simulation.Run(60, 1'000'000);
  EXPECT_EQ(simulation.rate(), 200);
}

TEST(RequestPacerTest, NeverStarves) {
  Simulation simulation(kUnlimited);
  simulation.Run(60, 0);
  EXPECT_GE(simulation.rate(), 50);
}

}  // namespace
}  // namespace bucketvol
