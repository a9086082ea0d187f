// Workers that die, hang or are replaced by others, under a guard and the kernel.

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/guard/restart_policy.h"
#include "test/guard/guard_rig.h"

namespace bucketvol::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class GuardWorkersTest : public ::testing::TestWithParam<Transport> {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  }
  std::string Large() { return ReadFileOrError(rig_.mount_point() + "/large"); }
  void ExpectGoodBytes() {
    const std::string large = Large();
    EXPECT_TRUE(large == ReadFileOrError(rig_.source_file("large"))) << large.substr(0, 100);
  }
  std::string LastError() {
    return rig_.Ask(MessageType::kStatus, {}, MessageType::kStatusReply).Strings(2)[1];
  }
  bool AwaitState(MountState state) {
    return Await([&] { return rig_.Status().state == state; });
  }
  void ExpectCleanEnd() {
    EXPECT_EQ(rig_.Unmount().code, ResultCode::kOk);
    EXPECT_EQ(rig_.AwaitGuard(), 0);
    EXPECT_EQ(rig_.Leftovers(), "");
  }

  GuardRig rig_;
};

INSTANTIATE_TEST_SUITE_P(Transports, GuardWorkersTest, ::testing::Values(Transport::kLoop, Transport::kFile),
                         [](const auto& tested) {
                           return tested.param == Transport::kLoop ? "Loop" : "File";
                         });

TEST_P(GuardWorkersTest, EachWorkerGetsTheMemoryOfTheNode) {
  rig_.ShareNodeMemory();
  rig_.Mount("node", GetParam());
  rig_.AwaitStandby();
  kill(rig_.Status().worker_pid, SIGKILL);
  ExpectGoodBytes();
  rig_.AwaitStandby();
  ExpectCleanEnd();
}

TEST_P(GuardWorkersTest, ADeadWorkerIsReplaced) {
  rig_.Mount("", GetParam());
  rig_.AwaitStandby();
  const GuardStatusBody before = rig_.Status();
  kill(before.worker_pid, SIGKILL);
  ExpectGoodBytes();
  const GuardStatusBody after = rig_.Status();
  EXPECT_EQ(after.state, MountState::kReady);
  EXPECT_EQ(after.worker_pid, before.standby_pid);
  EXPECT_EQ(after.worker_restarts, 1u);
  EXPECT_THAT(LastError(), HasSubstr("signal 9"));
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, ADeadWorkerIsReplacedBeforeAnotherOneIsReady) {
  rig_.Mount();
  kill(rig_.Status().worker_pid, SIGKILL);
  ExpectGoodBytes();
  EXPECT_EQ(rig_.Status().worker_restarts, 1u);
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, ADeadStandbyIsReplaced) {
  rig_.Mount();
  rig_.AwaitStandby();
  const pid_t standby = rig_.Status().standby_pid;
  kill(standby, SIGKILL);
  EXPECT_TRUE(Await([&] {
    const GuardStatusBody status = rig_.Status();
    return status.standby_ready != 0 && status.standby_pid != standby;
  }));
  EXPECT_EQ(rig_.Status().worker_restarts, 0u);
  ExpectCleanEnd();
}

TEST_P(GuardWorkersTest, WhenWorkersKeepDyingReadsFailUntilTheMountIsRevived) {
  rig_.SetRequestTimeout(2'000);
  rig_.Mount("next:crash", GetParam());
  kill(rig_.Status().worker_pid, SIGKILL);
  EXPECT_TRUE(AwaitState(MountState::kDegraded));
  EXPECT_THAT(Large(), StartsWith("error: read: Input/output error"));
  EXPECT_THAT(LastError(), HasSubstr("signal 6"));
  EXPECT_THAT(rig_.AskInWords(MessageType::kUpgrade, {rig_.WorkerProgram()}).Strings(1)[0],
              HasSubstr("degraded"));

  const Message failed = rig_.AskInWords(MessageType::kRevive, {"", ""});
  EXPECT_EQ(failed.BodyAs<ResultBody>().code, ResultCode::kFailed);
  EXPECT_THAT(failed.Strings(1)[0], HasSubstr("signal 6"));
  EXPECT_THAT(Large(), StartsWith("error: read: Input/output error"));

  const Message revived = rig_.AskInWords(MessageType::kRevive, {"", rig_.Spec("")});
  EXPECT_EQ(revived.BodyAs<ResultBody>().code, ResultCode::kOk) << revived.Strings(1)[0];
  EXPECT_EQ(rig_.Status().state, MountState::kReady);
  ExpectGoodBytes();
  ExpectCleanEnd();
}

// Each answer to a request that was taken over that often is EIO: takeover_test of the session.
TEST_F(GuardWorkersTest, AfterFiveFailuresWorkersAreToldToSuspectTheRequests) {
  rig_.Mount("next:distrustful");
  kill(rig_.Status().worker_pid, SIGKILL);
  ExpectGoodBytes();
  EXPECT_EQ(rig_.Status().worker_restarts, 5u);
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, ADegradedMountUnmounts) {
  rig_.SetRequestTimeout(2'000);
  rig_.Mount("next:die");
  kill(rig_.Status().worker_pid, SIGKILL);
  EXPECT_TRUE(AwaitState(MountState::kDegraded));
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, AWorkerWithoutAHeartbeatIsKilledAndReplaced) {
  rig_.SetRequestTimeout(1'000);
  rig_.Mount("first:no-beat");
  EXPECT_TRUE(Await([&] { return rig_.Status().worker_restarts == 1; }));
  EXPECT_THAT(LastError(), HasSubstr("no progress"));
  ExpectGoodBytes();
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, AStoppedWorkerIsKilledAndReplaced) {
  rig_.SetRequestTimeout(1'000);
  rig_.Mount();
  rig_.AwaitStandby();
  kill(rig_.Status().worker_pid, SIGSTOP);
  ExpectGoodBytes();
  EXPECT_THAT(LastError(), HasSubstr("no progress"));
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, AWorkerThatHoldsARequestForTooLongIsKilledAndReplaced) {
  rig_.Mount("first:overdue");
  EXPECT_TRUE(Await([&] { return rig_.Status().worker_restarts == 1; }));
  EXPECT_THAT(LastError(), HasSubstr("a request was not answered"));
  ExpectGoodBytes();
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, AWorkerThatExitsIsReplaced) {
  // It ends at the first question for its status, which Mount asks.
  rig_.Mount("first:exit=7");
  ExpectGoodBytes();
  EXPECT_EQ(rig_.Status().worker_restarts, 1u);
  EXPECT_THAT(LastError(), HasSubstr("exit code 7"));
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, AStoppedStandbyIsReplacedBeforeItIsNeeded) {
  rig_.SetRequestTimeout(1'000);
  rig_.Mount();
  rig_.AwaitStandby();
  const pid_t stopped = rig_.Status().standby_pid;
  kill(stopped, SIGSTOP);
  EXPECT_TRUE(Await([&] {
    const GuardStatusBody status = rig_.Status();
    return status.standby_ready != 0 && status.standby_pid != stopped;
  }));
  EXPECT_NE(kill(stopped, 0), 0);
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, AGuardWithoutDescriptorsStillReplacesItsWorker) {
  rig_.Mount();
  rig_.AwaitStandby();
  const GuardStatusBody before = rig_.Status();
  rlimit all;
  ASSERT_EQ(prlimit(rig_.guard(), RLIMIT_NOFILE, nullptr, &all), 0);
  constexpr size_t kFew = 64;
  const rlimit few{kFew, all.rlim_max};
  ASSERT_EQ(prlimit(rig_.guard(), RLIMIT_NOFILE, &few, nullptr), 0);
  std::vector<Channel> clients;
  while (clients.size() < kFew) {
    auto client = Channel::Connect(rig_.run_directory() + "/control");
    ASSERT_TRUE(client.ok()) << client.failure().text;
    clients.push_back(std::move(client.value()));
  }
  kill(before.worker_pid, SIGKILL);
  ExpectGoodBytes();
  // Who cannot be listened to is told so.
  Message message;
  EXPECT_EQ(clients.back().ReceiveWaiting(message, 20'000), Channel::Received::kClosed);
  ASSERT_EQ(prlimit(rig_.guard(), RLIMIT_NOFILE, &all, nullptr), 0);
  clients.clear();
  EXPECT_EQ(rig_.Status().worker_restarts, 1u);
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, AStoppedSuccessorIsReplacedToo) {
  rig_.Mount();
  rig_.AwaitStandby();
  const GuardStatusBody before = rig_.Status();
  kill(before.standby_pid, SIGSTOP);
  kill(before.worker_pid, SIGKILL);
  ExpectGoodBytes();
  EXPECT_EQ(rig_.Status().worker_restarts, 2u);
  ExpectCleanEnd();
}

TEST_P(GuardWorkersTest, AnUpgradeReplacesTheWorker) {
  rig_.Mount("", GetParam());
  const pid_t old = rig_.Status().worker_pid;
  const Message result = rig_.AskInWords(MessageType::kUpgrade, {rig_.WorkerProgram()});
  EXPECT_EQ(result.BodyAs<ResultBody>().code, ResultCode::kOk) << result.Strings(1)[0];
  const GuardStatusBody after = rig_.Status();
  EXPECT_NE(after.worker_pid, old);
  EXPECT_EQ(after.worker_restarts, 0u);
  ExpectGoodBytes();
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, WorkersOfANewerVersionServe) {
  rig_.Mount("newer");
  rig_.AwaitStandby();
  kill(rig_.Status().worker_pid, SIGKILL);
  ExpectGoodBytes();
  EXPECT_EQ(rig_.AskInWords(MessageType::kUpgrade, {rig_.WorkerProgram(), "a newer client's word"})
                .BodyAs<ResultBody>()
                .code,
            ResultCode::kOk);
  ExpectGoodBytes();
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, WorkersOfAnOlderVersionServe) {
  rig_.Mount("older");
  rig_.AwaitStandby();
  kill(rig_.Status().worker_pid, SIGKILL);
  ExpectGoodBytes();
  EXPECT_EQ(rig_.AskInWords(MessageType::kUpgrade, {rig_.WorkerProgram()}).BodyAs<ResultBody>().code,
            ResultCode::kOk);
  ExpectGoodBytes();
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, AnOlderGuardsStartIsThatOfAFirstWorker) {
  struct OlderStartBody {
    uint64_t generation = 4;
  };
  Message start;
  ASSERT_TRUE(DecodePacket(EncodeMessage(MessageType::kStart, OlderStartBody{}, {"spec"}), start));
  EXPECT_EQ(start.BodyAs<StartBody>().generation, 4u);
  EXPECT_EQ(start.BodyAs<StartBody>().role, WorkerRole::kFirst);
}

TEST_F(GuardWorkersTest, AWorkerThatDoesNotDrainIsKilledForAnUpgrade) {
  rig_.Mount("first:slow-drain");
  EXPECT_EQ(rig_.AskInWords(MessageType::kUpgrade, {rig_.WorkerProgram()}).BodyAs<ResultBody>().code,
            ResultCode::kOk);
  ExpectGoodBytes();
  EXPECT_EQ(rig_.Status().worker_restarts, 0u);
  ExpectCleanEnd();
}

TEST_F(GuardWorkersTest, AnUpgradeThatDoesNotComeUpLeavesTheOldWorkerServing) {
  rig_.SetRequestTimeout(3'000);
  rig_.Mount("next:hang");
  const pid_t old = rig_.Status().worker_pid;
  const std::string programs[] = {"/bin/false", "/nowhere/bucketvol", rig_.WorkerProgram()};
  for (const std::string& program : programs) {
    const Message result = rig_.AskInWords(MessageType::kUpgrade, {program});
    EXPECT_EQ(result.BodyAs<ResultBody>().code, ResultCode::kFailed) << program;
    EXPECT_THAT(result.Strings(1)[0], HasSubstr("goes on serving"));
    EXPECT_EQ(rig_.Status().worker_pid, old);
    ExpectGoodBytes();
  }
  ExpectCleanEnd();
}

TEST(RestartPolicyTest, AccidentsCostNoTime) {
  RestartPolicy policy(25'000);
  for (int64_t now = 0; now < 1'000'000; now += 1'000) EXPECT_EQ(policy.DelayAfter(1'000, now), 0);
  EXPECT_EQ(policy.DelayAfter(0, 0), 0);
  EXPECT_EQ(policy.DelayAfter(0, 1), 0);
}

TEST(RestartPolicyTest, DelaysGrowUntilThePatienceIsOver) {
  RestartPolicy policy(25'000);
  std::vector<int64_t> delays;
  int64_t now = 1'000;
  while (const auto delay = policy.DelayAfter(0, now)) {
    delays.push_back(*delay);
    now += *delay;
  }
  ASSERT_GE(delays.size(), 8u);
  EXPECT_THAT(std::vector<int64_t>(delays.begin(), delays.begin() + 8),
              ::testing::ElementsAre(0, 0, 100, 200, 400, 800, 1'600, 2'000));
  EXPECT_GE(now, 26'000);
  EXPECT_LE(now, 28'000);
}

TEST(RestartPolicyTest, AHealthyTimeForgivesAndSuspicionComesWithFailures) {
  RestartPolicy policy(25'000);
  EXPECT_EQ(policy.MostAttempts(), 0u);
  for (int i = 0; i < 5; ++i) policy.DelayAfter(0, 0);
  EXPECT_EQ(policy.MostAttempts(), 5u);
  EXPECT_EQ(policy.DelayAfter(RestartPolicy::kHealthyMs, 60'000), 0);
  EXPECT_EQ(policy.MostAttempts(), 0u);
  EXPECT_EQ(policy.DelayAfter(0, 70'000), 0);
}

}  // namespace
}  // namespace bucketvol::testing
