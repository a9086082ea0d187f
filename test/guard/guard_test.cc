// The guard program against a fake worker and the kernel.

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/guard/guard_rig.h"

namespace bucketvol::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class GuardTest : public ::testing::TestWithParam<Transport> {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  }
  std::string Large() { return ReadFileOrError(rig_.mount_point() + "/large"); }

  GuardRig rig_;
};

INSTANTIATE_TEST_SUITE_P(Transports, GuardTest, ::testing::Values(Transport::kLoop, Transport::kFile),
                         [](const auto& tested) {
                           return tested.param == Transport::kLoop ? "Loop" : "File";
                         });

TEST_P(GuardTest, MountsServesAndUnmounts) {
  rig_.Mount("", GetParam());
  EXPECT_EQ(ReadFileOrError(rig_.mount_point() + "/small"), "hello\n");
  EXPECT_EQ(Large(), ReadFileOrError(rig_.source_file("large")));
  EXPECT_EQ(rig_.Unmount().code, ResultCode::kOk);
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_P(GuardTest, APlainUmountEndsEverything) {
  rig_.Mount("", GetParam());
  ASSERT_EQ(umount2(rig_.mount_point().c_str(), 0), 0);
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_P(GuardTest, AfterTheGuardsDeathReadersGetAnErrorAndAPlainUmountWorks) {
  rig_.Mount("", GetParam());
  kill(rig_.guard(), SIGKILL);
  EXPECT_EQ(rig_.AwaitGuard(), -SIGKILL);
  EXPECT_TRUE(Await([&] { return Large().find("Input/output error") != std::string::npos; }))
      << Large().substr(0, 100);
  EXPECT_EQ(umount2(rig_.mount_point().c_str(), 0), 0);
  std::filesystem::remove_all(rig_.run_directory());
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_P(GuardTest, ForceEndsAStuckReader) {
  rig_.Mount("stop-at-read", GetParam());
  auto reader = std::async(std::launch::async, [&] { return Large(); });
  UnmountBody force;
  force.force = 1;
  EXPECT_EQ(rig_.Unmount(force).code, ResultCode::kOk);
  EXPECT_THAT(reader.get(), StartsWith("error: "));
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_P(GuardTest, AMuteWorkerDoesNotKeepAnInterruptedMount) {
  rig_.Start("mute", GetParam());
  // It opens the data file and waits for an answer that never comes.
  rig_.AwaitHelper();
  rig_.control().Close();
  EXPECT_EQ(rig_.AwaitGuard(), 1);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, AnImageWithoutDataMounts) {
  rig_.MakeEmptyImage();
  rig_.Mount("empty");
  EXPECT_TRUE(std::filesystem::is_empty(rig_.mount_point()));
  // No device holds the connection, and the worker is served it all the same.
  for (int i = 0; i < 100; ++i) ASSERT_EQ(rig_.Status().state, MountState::kReady);
  EXPECT_EQ(rig_.Unmount().code, ResultCode::kOk);
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, ADamagedImageIsRefusedInTheKernelsWords) {
  rig_.DamageImage();
  rig_.Start();
  EXPECT_THAT(rig_.Expect(MessageType::kResult).Strings(1)[0], HasSubstr("dmesg"));
  EXPECT_EQ(rig_.AwaitGuard(), 1);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, PassesProgressAndAFailureAndLeavesNothing) {
  rig_.Start("fail=wrong-keys");
  const Message result = rig_.Expect(MessageType::kResult);
  EXPECT_EQ(result.BodyAs<ResultBody>().code, ResultCode::kFailed);
  EXPECT_EQ(result.Strings(1)[0], "wrong-keys");
  EXPECT_EQ(rig_.AwaitGuard(), 1);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, NamesTheSignalOfACrashedWorker) {
  rig_.Start("crash");
  EXPECT_THAT(rig_.Expect(MessageType::kResult).Strings(1)[0], HasSubstr("signal 6"));
  EXPECT_EQ(rig_.AwaitGuard(), 1);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, ACommandThatGoesAwayDuringTheBuildLeavesNothing) {
  rig_.Start("silent");
  rig_.Expect(MessageType::kProgress);
  rig_.control().Close();
  EXPECT_EQ(rig_.AwaitGuard(), 1);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, ACommandThatGoesAwayBeforeItCommitsLeavesNothing) {
  rig_.Start();
  EXPECT_EQ(rig_.Expect(MessageType::kResult).BodyAs<ResultBody>().code, ResultCode::kOk);
  EXPECT_TRUE(rig_.IsMounted());
  rig_.control().Close();
  EXPECT_EQ(rig_.AwaitGuard(), 1);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, WhatIsUnmountedBeforeTheCommandCommitsEndsLikeAnyMount) {
  rig_.Start();
  EXPECT_EQ(rig_.Expect(MessageType::kResult).BodyAs<ResultBody>().code, ResultCode::kOk);
  ASSERT_EQ(umount2(rig_.mount_point().c_str(), 0), 0);
  EXPECT_EQ(rig_.Expect(MessageType::kResult).BodyAs<ResultBody>().code, ResultCode::kOk);
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, AMountInUseIsNotUnmountedAndStaysWhole) {
  rig_.Mount();
  UniqueFd user(open(rig_.mount_point().c_str(), O_RDONLY | O_CLOEXEC));
  const Message refused = rig_.Ask(MessageType::kUnmount);
  EXPECT_EQ(refused.BodyAs<ResultBody>().code, ResultCode::kBusy);
  EXPECT_THAT(refused.Strings(1)[0], HasSubstr("in use"));
  EXPECT_EQ(rig_.Status().state, MountState::kReady);
  EXPECT_EQ(ReadFileOrError(rig_.mount_point() + "/small"), "hello\n");
  user.Reset();
  EXPECT_EQ(rig_.Unmount().code, ResultCode::kOk);
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, ALazyUnmountServesTheLastUser) {
  rig_.Mount();
  UniqueFd user(open((rig_.mount_point() + "/large").c_str(), O_RDONLY | O_CLOEXEC));
  UnmountBody lazy;
  lazy.lazy = 1;
  EXPECT_EQ(rig_.Unmount(lazy).code, ResultCode::kOk);
  EXPECT_FALSE(rig_.IsMounted());
  char bytes[4096];
  EXPECT_EQ(pread(user.get(), bytes, sizeof bytes, 1 << 20), static_cast<ssize_t>(sizeof bytes));
  user.Reset();
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, ATerminatedGuardUnmounts) {
  rig_.Mount();
  kill(rig_.guard(), SIGTERM);
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, WillNotUnmountWhatIsMountedOverIt) {
  rig_.Mount();
  ASSERT_EQ(mount("none", rig_.mount_point().c_str(), "tmpfs", 0, ""), 0);
  const Message refused = rig_.Ask(MessageType::kUnmount);
  EXPECT_THAT(refused.Strings(1)[0], HasSubstr("another file system"));
  ASSERT_EQ(umount2(rig_.mount_point().c_str(), 0), 0);
  EXPECT_EQ(rig_.Unmount().code, ResultCode::kOk);
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardTest, StatusCarriesTheWorkersDocument) {
  rig_.Mount("document={\"n\":1}");
  const Message reply = rig_.Ask(MessageType::kStatus, {}, MessageType::kStatusReply);
  EXPECT_EQ(reply.Strings(3)[0], rig_.mount_point());
  EXPECT_EQ(reply.Strings(3)[2], "{\"n\":1}");
  const auto body = reply.BodyAs<GuardStatusBody>();
  EXPECT_EQ(body.state, MountState::kReady);
  EXPECT_EQ(body.guard_pid, rig_.guard());
  EXPECT_EQ(body.worker_restarts, 0u);
}

TEST_F(GuardTest, StatusOfAStoppedWorkerIsTheLastKnown) {
  rig_.Mount("document=first");
  const pid_t worker = rig_.Status().worker_pid;
  kill(worker, SIGSTOP);
  EXPECT_EQ(rig_.Ask(MessageType::kStatus, {}, MessageType::kStatusReply).Strings(3)[2], "first");
  kill(worker, SIGCONT);
}

TEST_F(GuardTest, ASecondGuardOfTheSameMountIsRefused) {
  rig_.Mount();
  auto ends = Channel::MakePair();
  ASSERT_TRUE(ends.ok());
  const std::string program = std::string(getenv("BUCKETVOL_BIN")) + "/bucketvol-guard";
  if (fork() == 0) {
    dup2(ends.value().second.fd(), 3);
    execl(program.c_str(), "bucketvol-guard", rig_.mount_point().c_str(), rig_.run_directory().c_str(),
          nullptr);
    _exit(127);
  }
  ends.value().second.Close();
  ASSERT_TRUE(
      ends.value().first.Send(EncodeMessage(MessageType::kMount, MountBody{}, {rig_.mount_point()})).ok());
  Message result;
  ASSERT_EQ(ends.value().first.ReceiveWaiting(result, 20'000), Channel::Received::kMessage);
  EXPECT_EQ(result.BodyAs<ResultBody>().code, ResultCode::kBusy);
  EXPECT_EQ(rig_.Status().state, MountState::kReady);
}

TEST_F(GuardTest, SkipsWordsOfANewerProgram) {
  rig_.Mount();
  auto channel = Channel::Connect(rig_.run_directory() + "/control");
  ASSERT_TRUE(channel.ok());
  ASSERT_TRUE(channel.value().Send(EncodePacket(static_cast<MessageType>(9999), "new", "words")).ok());
  ASSERT_TRUE(channel.value().Send(EncodePacket(MessageType::kStatus, "", "")).ok());
  Message reply;
  EXPECT_EQ(channel.value().ReceiveWaiting(reply, 20'000), Channel::Received::kMessage);
  EXPECT_TRUE(reply.Is(MessageType::kStatusReply));
}

// Whether this process may ask the memory killer to spare it, as the guard does.
bool MayLowerItsScore() {
  const std::string path = "/proc/self/oom_score_adj";
  const std::string before = ReadFileOrError(path);
  std::ofstream lowered(path);
  if (!(lowered << "-1000" << std::flush)) return false;
  std::ofstream(path) << before;
  return true;
}

TEST_F(GuardTest, TheMemoryKillerSparesTheGuardAndNotTheWorker) {
  rig_.Mount();
  const auto score = [](pid_t pid) {
    return std::stoi(ReadFileOrError("/proc/" + std::to_string(pid) + "/oom_score_adj"));
  };
  if (MayLowerItsScore()) {
    EXPECT_EQ(score(rig_.guard()), -1000);
  }
  EXPECT_GT(score(static_cast<pid_t>(rig_.Status().worker_pid)), 0);
}

TEST_F(GuardTest, KeepsSecretsOutOfArgumentsAndEnvironment) {
  rig_.Mount();
  for (const pid_t pid : {rig_.guard(), static_cast<pid_t>(rig_.Status().worker_pid)}) {
    const std::string proc = "/proc/" + std::to_string(pid);
    EXPECT_THAT(ReadFileOrError(proc + "/cmdline"), ::testing::Not(HasSubstr("secret")));
    EXPECT_EQ(ReadFileOrError(proc + "/environ").find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace bucketvol::testing
