// One guard and several mount points, against a fake worker and the kernel.

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/guard/claims.h"
#include "mounter/guard/lock_file.h"
#include "mounter/guard/mount_table.h"
#include "test/guard/guard_rig.h"

namespace bucketvol::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kLimitMs = 20'000;

Message Answer(const Channel& channel) {
  Message message;
  do {
    if (channel.ReceiveWaiting(message, kLimitMs) != Channel::Received::kMessage) {
      ADD_FAILURE() << "no answer";
      return {};
    }
  } while (!message.Is(MessageType::kResult));
  return message;
}

ResultCode CodeOf(const Message& message) { return message.BodyAs<ResultBody>().code; }

bool IsMountedAt(const std::string& path) { return TopMountAt(ReadMountTable(), path).has_value(); }

class GuardJoinsTest : public ::testing::TestWithParam<Transport> {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  }
  void TearDown() override { umount2(second_.c_str(), MNT_DETACH); }

  void JoinAndCommit() {
    const Channel channel = rig_.Join(second_);
    const Message answer = Answer(channel);
    ASSERT_EQ(CodeOf(answer), ResultCode::kOk) << answer.Strings(1)[0];
    ASSERT_TRUE(channel.Send(EncodePacket(MessageType::kCommit, "", "")).ok());
  }
  std::vector<std::string> ClaimedMountPoints() {
    return ReadClaims(rig_.run_directory()).value_or(Claims{}).mount_points;
  }
  std::string LargeAt(const std::string& path) { return ReadFileOrError(path + "/large"); }

  GuardRig rig_;
  const std::string first_ = rig_.mount_point();
  const std::string second_ = rig_.MakeMountPoint("second");
};

INSTANTIATE_TEST_SUITE_P(Transports, GuardJoinsTest, ::testing::Values(Transport::kLoop, Transport::kFile),
                         [](const auto& tested) {
                           return tested.param == Transport::kLoop ? "Loop" : "File";
                         });

TEST_P(GuardJoinsTest, EachMountPointServesAndEndsByItself) {
  rig_.Mount("", GetParam());
  JoinAndCommit();
  EXPECT_THAT(ClaimedMountPoints(), ElementsAre(first_, second_));
  const Message status = rig_.Ask(MessageType::kStatus, {}, MessageType::kStatusReply);
  EXPECT_THAT(status.Strings(5), ElementsAre(first_, "", "", first_, second_));
  const std::string large = ReadFileOrError(rig_.source_file("large"));
  EXPECT_EQ(LargeAt(first_), large);
  EXPECT_EQ(LargeAt(second_), large);

  const Message ended = rig_.UnmountAt(first_);
  EXPECT_EQ(CodeOf(ended), ResultCode::kOk);
  EXPECT_EQ(ended.BodyAs<ResultBody>().mount_points, 1u);
  EXPECT_FALSE(IsMountedAt(first_));
  EXPECT_FALSE(LockFile::IsHeld(rig_.LockOf(first_)));
  EXPECT_THAT(ClaimedMountPoints(), ElementsAre(second_));
  EXPECT_EQ(LargeAt(second_), large);

  const Message last = rig_.UnmountAt(second_);
  EXPECT_EQ(CodeOf(last), ResultCode::kOk);
  EXPECT_EQ(last.BodyAs<ResultBody>().mount_points, 0u);
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
  EXPECT_NE(access(rig_.source_lock().c_str(), F_OK), 0);
}

TEST_P(GuardJoinsTest, ThePlainUmountOfTheLastOneEndsEverything) {
  rig_.Mount("", GetParam());
  JoinAndCommit();
  ASSERT_EQ(umount2(first_.c_str(), 0), 0);
  EXPECT_TRUE(Await([&] { return ClaimedMountPoints() == std::vector<std::string>{second_}; }));
  ASSERT_EQ(umount2(second_.c_str(), 0), 0);
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_P(GuardJoinsTest, AReaderThatHangsDoesNotKeepAnotherMountPoint) {
  rig_.Mount("stop-at-read", GetParam());
  JoinAndCommit();
  const pid_t reader = fork();
  if (reader == 0) {
    ReadFileOrError(second_ + "/large");
    _exit(0);
  }
  EXPECT_EQ(CodeOf(rig_.UnmountAt(first_)), ResultCode::kOk);
  EXPECT_EQ(rig_.Status().state, MountState::kReady);
  UnmountBody force;
  force.force = 1;
  EXPECT_EQ(CodeOf(rig_.UnmountAt(second_, force)), ResultCode::kOk);
  waitpid(reader, nullptr, 0);
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardJoinsTest, WhatIsNotCommittedIsTakenDown) {
  rig_.Mount();
  Channel channel = rig_.Join(second_);
  EXPECT_EQ(CodeOf(Answer(channel)), ResultCode::kOk);
  EXPECT_TRUE(IsMountedAt(second_));
  channel.Close();
  EXPECT_TRUE(Await([&] { return !IsMountedAt(second_) && !LockFile::IsHeld(rig_.LockOf(second_)); }));
  // Also of one who goes away at once.
  rig_.Join(second_).Close();
  rig_.Status();
  EXPECT_TRUE(Await([&] { return !IsMountedAt(second_) && !LockFile::IsHeld(rig_.LockOf(second_)); }));
  EXPECT_THAT(ClaimedMountPoints(), ElementsAre(first_));
  EXPECT_EQ(ReadFileOrError(first_ + "/small"), "hello\n");
}

TEST_F(GuardJoinsTest, WaitsUntilTheFirstOneIsCommitted) {
  rig_.Start();
  ASSERT_EQ(CodeOf(rig_.Expect(MessageType::kResult)), ResultCode::kOk);
  const Channel channel = rig_.Join(second_);
  rig_.Status();
  EXPECT_FALSE(IsMountedAt(second_));
  ASSERT_TRUE(rig_.control().Send(EncodePacket(MessageType::kCommit, "", "")).ok());
  EXPECT_EQ(CodeOf(Answer(channel)), ResultCode::kOk);
  EXPECT_TRUE(IsMountedAt(second_));
}

TEST_F(GuardJoinsTest, WhoWaitsForAnInterruptedMountIsSentAway) {
  rig_.Start("silent");
  rig_.Expect(MessageType::kProgress);
  const Channel channel = rig_.Join(second_);
  rig_.Status();
  rig_.control().Close();
  Message message;
  Channel::Received received;
  while ((received = channel.ReceiveWaiting(message, kLimitMs)) == Channel::Received::kMessage)
    EXPECT_FALSE(message.Is(MessageType::kResult));
  EXPECT_EQ(received, Channel::Received::kClosed);
  EXPECT_EQ(rig_.AwaitGuard(), 1);
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardJoinsTest, RefusesOtherTermsAndCredentials) {
  rig_.Mount();
  const Message terms = Answer(rig_.Join(second_, "others"));
  EXPECT_EQ(CodeOf(terms), ResultCode::kOtherTerms);
  EXPECT_EQ(terms.Strings(2)[1], "terms");
  EXPECT_EQ(CodeOf(Answer(rig_.Join(second_, "terms", "others"))), ResultCode::kOtherCredentials);
  EXPECT_EQ(CodeOf(Answer(rig_.Join(first_))), ResultCode::kBusy);
  EXPECT_FALSE(IsMountedAt(second_));
  EXPECT_TRUE(Await([&] { return !LockFile::IsHeld(rig_.LockOf(second_)); }));
}

TEST_F(GuardJoinsTest, AMountPointThatCannotBeUsedIsTold) {
  rig_.Mount();
  const Message answer = Answer(rig_.Join(second_ + "/nothing"));
  EXPECT_EQ(CodeOf(answer), ResultCode::kFailed);
  EXPECT_THAT(answer.Strings(1)[0], HasSubstr("No such file"));
  JoinAndCommit();
  EXPECT_TRUE(IsMountedAt(second_));
}

TEST_F(GuardJoinsTest, ADegradedMountIsRevivedFirst) {
  rig_.SetRequestTimeout(200);
  rig_.Mount("next:die");
  kill(static_cast<pid_t>(rig_.Status().worker_pid), SIGKILL);
  EXPECT_TRUE(Await([&] { return rig_.Status().state == MountState::kDegraded; }));
  EXPECT_EQ(CodeOf(Answer(rig_.Join(second_))), ResultCode::kDegraded);
  const std::string spec = rig_.Spec("");
  // What a revival brings is agreed upon from then on.
  const Message revived = rig_.AskInWords(MessageType::kRevive,
                                          {GuardRig::WorkerProgram(), spec, "new terms", "new credentials"});
  EXPECT_EQ(CodeOf(revived), ResultCode::kOk);
  EXPECT_EQ(CodeOf(Answer(rig_.Join(second_))), ResultCode::kOtherTerms);
  EXPECT_EQ(CodeOf(Answer(rig_.Join(second_, "new terms", "new credentials"))), ResultCode::kOk);
}

TEST_F(GuardJoinsTest, ASecondGuardOfTheSourceIsTurnedAway) {
  rig_.Mount();
  auto ends = Channel::MakePair();
  ASSERT_TRUE(ends.ok());
  const std::string program = std::string(getenv("BUCKETVOL_BIN")) + "/bucketvol-guard";
  const std::string run_directory = rig_.run_directory() + "2";
  const pid_t guard = fork();
  if (guard == 0) {
    dup2(ends.value().second.fd(), 3);
    execl(program.c_str(), "bucketvol-guard", second_.c_str(), run_directory.c_str(), nullptr);
    _exit(127);
  }
  ends.value().second.Close();
  const std::string worker = GuardRig::WorkerProgram();
  const std::string lock = rig_.LockOf(second_);
  ASSERT_TRUE(ends.value()
                  .first
                  .Send(EncodeMessage(MessageType::kMount, MountBody{},
                                      {second_, worker, "", "", lock, rig_.source_lock()}))
                  .ok());
  EXPECT_EQ(CodeOf(Answer(ends.value().first)), ResultCode::kOwned);
  waitpid(guard, nullptr, 0);
  EXPECT_NE(access(lock.c_str(), F_OK), 0);
  EXPECT_NE(access(run_directory.c_str(), F_OK), 0);
  JoinAndCommit();
}

TEST_F(GuardJoinsTest, AKilledGuardHasNothing) {
  rig_.Mount();
  EXPECT_TRUE(LockFile::IsHeld(rig_.source_lock()));
  EXPECT_TRUE(LockFile::IsHeld(rig_.LockOf(first_)));
  kill(rig_.guard(), SIGKILL);
  EXPECT_EQ(rig_.AwaitGuard(), -SIGKILL);
  EXPECT_FALSE(LockFile::IsHeld(rig_.source_lock()));
  EXPECT_FALSE(LockFile::IsHeld(rig_.LockOf(first_)));
}

TEST_F(GuardJoinsTest, TheSourceIsFreeOnceNothingIsMounted) {
  rig_.Mount();
  JoinAndCommit();
  UniqueFd user(open((first_ + "/large").c_str(), O_RDONLY | O_CLOEXEC));
  UnmountBody lazy;
  lazy.lazy = 1;
  EXPECT_EQ(CodeOf(rig_.UnmountAt(second_, lazy)), ResultCode::kOk);
  EXPECT_TRUE(LockFile::IsHeld(rig_.source_lock()));
  EXPECT_THAT(rig_.UnmountAt(first_, lazy).Strings(1)[0], HasSubstr("still used"));
  EXPECT_FALSE(LockFile::IsHeld(rig_.source_lock()));
  const Claims claims = ReadClaims(rig_.run_directory()).value_or(Claims{});
  EXPECT_TRUE(claims.fading);
  EXPECT_THAT(claims.mount_points, ElementsAre(first_));
  EXPECT_THAT(claims.sources, ElementsAre());
  // Nobody joins any more; whoever reads goes on until it is ended by force.
  Message message;
  EXPECT_EQ(rig_.Join(second_).ReceiveWaiting(message, kLimitMs), Channel::Received::kClosed);
  char byte;
  EXPECT_EQ(pread(user.get(), &byte, 1, 2'000'000), 1);
  UnmountBody force;
  force.force = 1;
  EXPECT_EQ(CodeOf(rig_.UnmountAt(first_, force)), ResultCode::kOk);
  EXPECT_EQ(rig_.AwaitGuard(), 0);
  user.Reset();
  EXPECT_EQ(rig_.Leftovers(), "");
}

TEST_F(GuardJoinsTest, AnOlderClientUnmountsTheFirstOne) {
  rig_.Mount();
  JoinAndCommit();
  EXPECT_EQ(rig_.Unmount().code, ResultCode::kOk);
  EXPECT_FALSE(IsMountedAt(first_));
  EXPECT_TRUE(IsMountedAt(second_));
}

}  // namespace
}  // namespace bucketvol::testing
