// A session on the slots of one that died: what was taken from the kernel and not answered is answered.

#include <fcntl.h>
#include <linux/fuse.h>

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/session/request_journal.h"
#include "test/session/session_rig.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using testing::FakeKernel;
using testing::MakeSlots;
using testing::RunningSession;
using testing::VirtualTime;
using testing::WaitingServer;

constexpr uint64_t kData0 = 2;
constexpr uint64_t kData1 = 3;

/// A worker that takes requests from the kernel and dies before it answers one.
class DyingWorker {
 public:
  DyingWorker(FakeKernel& kernel, RequestSlots& slots, const Clock& clock)
      : fd_(kernel.SessionEnd()), journal_(slots, clock) {}

  void Take() {
    takers_.push_back(std::make_unique<RequestTaker>(journal_, fd_.get()));
    EXPECT_FALSE(takers_.back()->Take().empty());
  }
  /// Dies between read(2) and the first instruction after it.
  void TakeAndNoteNothing(RequestSlots& slots) {
    const uint32_t slot = *journal_.Arm();
    slots.slot(slot).state = static_cast<uint32_t>(SlotState::kArmed);
    slots.slot(slot).taken_ms = 0;
    EXPECT_GT(read(fd_.get(), slots.request(slot), slots.request_bytes()), 0);
  }

 private:
  UniqueFd fd_;
  RequestJournal journal_;
  std::vector<std::unique_ptr<RequestTaker>> takers_;
};

class TakeoverTest : public ::testing::Test {
 protected:
  TakeoverTest() {
    time_.Advance(absl::Seconds(1'000));
    RunningSession first(kernel_, slots_, server_, time_);
    kernel_.Init();
    EXPECT_OK(first.Stop());
  }

  std::unique_ptr<RunningSession> StartSuccessor(uint32_t most_attempts = 0) {
    return std::make_unique<RunningSession>(kernel_, slots_, server_, time_, most_attempts);
  }
  void ExpectAllFree() { EXPECT_TRUE(slots_.Taken().empty()); }

  VirtualTime time_;
  WaitingServer server_;
  FakeKernel kernel_;
  RequestSlots slots_ = MakeSlots();
};

TEST_F(TakeoverTest, AnswersWhatADeadWorkerTookBeforeAnythingNew) {
  const uint64_t first = kernel_.SendRead(kData0, 4096, 4096);
  const uint64_t second = kernel_.SendRead(kData1, 0, 100);
  {
    DyingWorker dying(kernel_, slots_, time_);
    dying.Take();
    dying.Take();
  }
  const uint64_t third = kernel_.SendRead(kData0, 8192, 4096);
  auto successor = StartSuccessor();
  WaitingServer::Waiting reads[] = {server_.Take(), server_.Take(), server_.Take()};
  EXPECT_EQ(reads[0].range, (ByteRange{4096, 8192}));
  EXPECT_EQ(reads[1].range, (ByteRange{0, 100}));
  EXPECT_EQ(reads[2].range, (ByteRange{8192, 12288}));
  for (const uint64_t unique : {first, second, third}) {
    reads[unique == first ? 0 : unique == second ? 1 : 2].Send(std::to_string(unique));
    const FakeKernel::Reply reply = kernel_.Receive();
    EXPECT_EQ(reply.unique, unique);
    EXPECT_EQ(reply.body, std::to_string(unique));
  }
  EXPECT_OK(successor->Stop());
  ExpectAllFree();
}

TEST_F(TakeoverTest, FindsARequestThatWasReadAndNotNoted) {
  const uint64_t unique = kernel_.SendRead(kData0, 0, 4096);
  DyingWorker(kernel_, slots_, time_).TakeAndNoteNothing(slots_);
  auto successor = StartSuccessor();
  server_.Take().Send("found");
  const FakeKernel::Reply reply = kernel_.Receive();
  EXPECT_EQ(reply.unique, unique);
  EXPECT_EQ(reply.body, "found");
}

TEST_F(TakeoverTest, AnArmedSlotWithoutARequestIsFree) {
  { DyingWorker dying(kernel_, slots_, time_); }
  slots_.slot(5).state = static_cast<uint32_t>(SlotState::kArmed);
  auto successor = StartSuccessor();
  EXPECT_EQ(kernel_.Lookup("data0").error, 0);
  EXPECT_OK(successor->Stop());
  ExpectAllFree();
  EXPECT_EQ(slots_.slot(5).state, static_cast<uint32_t>(SlotState::kFree));
}

TEST_F(TakeoverTest, TheLimitOfARequestCountsFromItsFirstReader) {
  const uint64_t unique = kernel_.SendRead(kData0, 0, 4096);
  {
    DyingWorker dying(kernel_, slots_, time_);
    dying.Take();
  }
  time_.Advance(absl::Seconds(60));
  auto successor = StartSuccessor();
  const WaitingServer::Waiting read = server_.Take();
  kernel_.SendRead(kData0, 4096, 4096);
  const WaitingServer::Waiting later = server_.Take();
  time_.Advance(absl::Seconds(39));
  EXPECT_FALSE(kernel_.HasReply());
  time_.Advance(absl::Seconds(1));
  const FakeKernel::Reply reply = kernel_.Receive();
  EXPECT_EQ(reply.unique, unique);
  EXPECT_EQ(reply.error, EIO);
  EXPECT_FALSE(kernel_.HasReply());
}

TEST_F(TakeoverTest, ARequestOlderThanTheLimitIsAnsweredAtOnce) {
  const uint64_t unique = kernel_.SendRead(kData0, 0, 4096);
  {
    DyingWorker dying(kernel_, slots_, time_);
    dying.Take();
  }
  time_.Advance(absl::Seconds(100));
  auto successor = StartSuccessor();
  const FakeKernel::Reply reply = kernel_.Receive();
  EXPECT_EQ(reply.unique, unique);
  EXPECT_EQ(reply.error, EIO);
  EXPECT_OK(successor->Stop());
  ExpectAllFree();
}

TEST_F(TakeoverTest, ARequestThatKillsEveryWorkerIsGivenUp) {
  kernel_.SendRead(kData0, 0, 4096);
  {
    DyingWorker dying(kernel_, slots_, time_);
    dying.Take();
  }
  for (int successors = 0; successors < 3; ++successors) RequestJournal(slots_, time_).TakeOver();
  kernel_.SendRead(kData0, 4096, 4096);
  auto successor = StartSuccessor(3);
  EXPECT_EQ(kernel_.Receive().error, EIO);
  server_.Take().Send("lives");
  EXPECT_EQ(kernel_.Receive().body, "lives");
}

TEST_F(TakeoverTest, ARequestLongerThanASlotIsAnErrorNotAGuess) {
  const std::string name(slots_.request_bytes(), 'x');
  const uint64_t unique = kernel_.SendBytes(FUSE_LOOKUP, FUSE_ROOT_ID, name + '\0');
  {
    DyingWorker dying(kernel_, slots_, time_);
    dying.Take();
  }
  auto successor = StartSuccessor();
  const FakeKernel::Reply reply = kernel_.Receive();
  EXPECT_EQ(reply.unique, unique);
  EXPECT_EQ(reply.error, EIO);
  // A living worker answers it.
  EXPECT_EQ(kernel_.Lookup(name).As<fuse_entry_out>().nodeid, 0u);
}

TEST_F(TakeoverTest, ForgottenInodesNeedNoAnswer) {
  kernel_.Send(FUSE_FORGET, kData0, fuse_forget_in{});
  {
    DyingWorker dying(kernel_, slots_, time_);
    dying.Take();
  }
  auto successor = StartSuccessor();
  EXPECT_EQ(kernel_.Lookup("data0").error, 0);
  EXPECT_OK(successor->Stop());
  ExpectAllFree();
}

TEST(TakeoverOfInitTest, AnInitThatNobodyAnsweredIsAnswered) {
  VirtualTime time;
  WaitingServer server;
  FakeKernel kernel;
  RequestSlots slots = MakeSlots();
  fuse_init_in init{};
  init.major = FUSE_KERNEL_VERSION;
  init.minor = FUSE_KERNEL_MINOR_VERSION;
  const uint64_t unique = kernel.Send(FUSE_INIT, 0, init);
  {
    DyingWorker dying(kernel, slots, time);
    dying.Take();
  }
  RunningSession successor(kernel, slots, server, time);
  const FakeKernel::Reply reply = kernel.Receive();
  EXPECT_EQ(reply.unique, unique);
  EXPECT_EQ(reply.As<fuse_init_out>().major, 7u);
  EXPECT_EQ(kernel.Lookup("data0").error, 0);
}

/// A kernel of Linux 6.9 and later.
class ResendTest : public ::testing::Test {
 protected:
  ResendTest() {
    RunningSession first(kernel_, slots_, server_, time_);
    fuse_init_in init{};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = FUSE_KERNEL_MINOR_VERSION;
    init.flags = 1u << 30;
    init.flags2 = 1u << 7;
    kernel_.Call(FUSE_INIT, 0, init);
    EXPECT_OK(first.Stop());
  }
  /// Takes one read into the grave, and lets the successor take it over.
  void LoseARead() {
    lost_ = kernel_.SendRead(kData0, 0, 4096);
    {
      DyingWorker dying(kernel_, slots_, time_);
      dying.Take();
    }
    successor_ = std::make_unique<RunningSession>(kernel_, slots_, server_, time_);
    const FakeKernel::Reply notice = kernel_.Receive();
    EXPECT_EQ(notice.unique, 0u);
    EXPECT_EQ(notice.error, -7);  // FUSE_NOTIFY_RESEND.
  }

  VirtualTime time_;
  WaitingServer server_;
  FakeKernel kernel_;
  RequestSlots slots_ = MakeSlots();
  uint64_t lost_ = 0;
  std::unique_ptr<RunningSession> successor_;
};

TEST_F(ResendTest, ARequestThatIsBeingWorkedOnIsAnsweredOnceByItsNewNumber) {
  LoseARead();
  WaitingServer::Waiting read = server_.Take();
  fuse_read_in again{};
  again.size = 4096;
  kernel_.SendAs(lost_ | kResentBit, FUSE_READ, kData0, again);
  while (slots_.Taken().empty() || slots_.UniqueOf(slots_.Taken()[0]) != (lost_ | kResentBit)) sched_yield();
  read.Send("once");
  const FakeKernel::Reply reply = kernel_.Receive();
  EXPECT_EQ(reply.unique, lost_ | kResentBit);
  EXPECT_EQ(reply.body, "once");
  EXPECT_FALSE(kernel_.HasReply());
  EXPECT_OK(successor_->Stop());
  EXPECT_TRUE(slots_.Taken().empty());
}

TEST_F(ResendTest, ARequestThatNobodyRemembersIsWorkedOn) {
  LoseARead();
  server_.Take().Send("the one that was kept");
  EXPECT_EQ(kernel_.Receive().unique, lost_);
  fuse_read_in other{};
  other.size = 4096;
  kernel_.SendAs(777 | kResentBit, FUSE_READ, kData0, other);
  server_.Take().Send("the one that was not");
  const FakeKernel::Reply reply = kernel_.Receive();
  EXPECT_EQ(reply.unique, 777 | kResentBit);
  EXPECT_EQ(reply.body, "the one that was not");
}

}  // namespace
}  // namespace bucketvol
