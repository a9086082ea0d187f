#include "mounter/session/fuse_session.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/session/session_rig.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using testing::FakeKernel;
using ::testing::HasSubstr;
using testing::MakeSlots;
using testing::RunningSession;
using testing::StatusIs;
using testing::VirtualTime;
using testing::WaitingServer;

class FuseSessionTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kData0 = 2;  // Inodes follow the order of the files, after the root.
  static constexpr uint64_t kData1 = 3;
  static constexpr uint64_t kEmpty = 4;

  VirtualTime time_;
  WaitingServer server_;
  FakeKernel kernel_;
  RequestSlots slots_ = MakeSlots();
  RunningSession session_{kernel_, slots_, server_, time_};
};

TEST_F(FuseSessionTest, AsksForLargeReadsInFlightInNumbers) {
  const fuse_init_out init = kernel_.Init();
  EXPECT_EQ(init.major, 7u);
  EXPECT_EQ(init.max_write, 4096u);  // A request must fit where it is kept.
  EXPECT_EQ(init.max_pages, (1 << 20) / getpagesize());
  EXPECT_EQ(init.max_background, 700);
  EXPECT_TRUE(init.flags & FUSE_ASYNC_READ);
  EXPECT_TRUE(init.flags & FUSE_ASYNC_DIO);
  EXPECT_FALSE(init.flags & FUSE_AUTO_INVAL_DATA);
}

TEST_F(FuseSessionTest, ShowsTheFiles) {
  kernel_.Init();
  const auto found = kernel_.Lookup("data1").As<fuse_entry_out>();
  EXPECT_EQ(found.nodeid, kData1);
  EXPECT_EQ(found.attr.size, 4097u);
  EXPECT_EQ(found.attr.mode, static_cast<uint32_t>(S_IFREG | 0444));
  EXPECT_GT(found.entry_valid, 1'000'000'000u);
  EXPECT_GT(found.attr_valid, 1'000'000'000u);
  EXPECT_EQ(kernel_.Lookup("data2").As<fuse_entry_out>().nodeid, 0u);
  EXPECT_EQ(kernel_.Lookup("data0", kData1).error, ENOTDIR);
  const auto root = kernel_.Call(FUSE_GETATTR, FUSE_ROOT_ID, fuse_getattr_in{}).As<fuse_attr_out>();
  EXPECT_EQ(root.attr.mode, static_cast<uint32_t>(S_IFDIR | 0555));
  EXPECT_EQ(kernel_.Call(FUSE_GETATTR, 99, fuse_getattr_in{}).error, ENOENT);
}

TEST_F(FuseSessionTest, OpensForReadingOnly) {
  kernel_.Init();
  fuse_open_in open{};
  open.flags = O_RDONLY;
  EXPECT_TRUE(kernel_.Call(FUSE_OPEN, kData0, open).As<fuse_open_out>().open_flags & FOPEN_DIRECT_IO);
  EXPECT_EQ(kernel_.Call(FUSE_RELEASE, kData0, fuse_release_in{}).error, 0);
  open.flags = O_RDWR;
  EXPECT_EQ(kernel_.Call(FUSE_OPEN, kData0, open).error, EROFS);
  open.flags = O_RDONLY;
  EXPECT_EQ(kernel_.Call(FUSE_OPEN, FUSE_ROOT_ID, open).error, EISDIR);
}

std::vector<std::string> NamesIn(const std::string& listing, uint64_t& next_offset) {
  std::vector<std::string> names;
  for (size_t at = 0; at < listing.size();) {
    fuse_dirent entry;
    std::memcpy(&entry, listing.data() + at, FUSE_NAME_OFFSET);
    names.push_back(listing.substr(at + FUSE_NAME_OFFSET, entry.namelen));
    next_offset = entry.off;
    at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + entry.namelen);
  }
  return names;
}

TEST_F(FuseSessionTest, ListsTheDirectoryPieceByPiece) {
  kernel_.Init();
  EXPECT_EQ(kernel_.Call(FUSE_OPENDIR, FUSE_ROOT_ID, fuse_open_in{}).error, 0);
  EXPECT_EQ(kernel_.Call(FUSE_OPENDIR, kData0, fuse_open_in{}).error, ENOTDIR);
  std::vector<std::string> all;
  fuse_read_in read{};
  read.size = 80;  // Two entries.
  while (true) {
    const FakeKernel::Reply reply = kernel_.Call(FUSE_READDIR, FUSE_ROOT_ID, read);
    if (reply.body.empty()) break;
    const std::vector<std::string> some = NamesIn(reply.body, read.offset);
    EXPECT_LE(some.size(), 2u);
    all.insert(all.end(), some.begin(), some.end());
  }
  EXPECT_THAT(all, ElementsAre(".", "..", "data0", "data1", "empty"));
}

TEST_F(FuseSessionTest, RefusesChangesAndWhatItDoesNotKnow) {
  kernel_.Init();
  EXPECT_EQ(kernel_.Call(FUSE_SETATTR, kData0, fuse_setattr_in{}).error, EROFS);
  kernel_.SendBytes(FUSE_UNLINK, FUSE_ROOT_ID, std::string("data0\0", 6));
  EXPECT_EQ(kernel_.Receive().error, EROFS);
  EXPECT_EQ(kernel_.Call(FUSE_GETXATTR, kData0, fuse_getxattr_in{}).error, ENOSYS);
}

TEST_F(FuseSessionTest, ManyReadsWaitAndAreAnsweredInAnyOrder) {
  constexpr uint32_t kReads = 200;  // Far more than threads.
  kernel_.Init();
  std::map<uint64_t, std::string> expected;
  for (uint64_t i = 0; i < kReads; ++i) {
    expected[kernel_.SendRead(kData0, i * 4096, 4096)] = "bytes at " + std::to_string(i * 4096);
  }
  std::vector<WaitingServer::Waiting> waiting;
  for (uint32_t i = 0; i < kReads; ++i) waiting.push_back(server_.Take());
  EXPECT_FALSE(kernel_.HasReply());
  EXPECT_EQ(session_->reads_in_flight(), kReads);
  std::thread other([&] {
    for (uint32_t i = kReads; i-- > 0;) waiting[i].Send("bytes at " + std::to_string(waiting[i].range.begin));
  });
  for (uint32_t i = 0; i < kReads; ++i) {
    const FakeKernel::Reply reply = kernel_.Receive();
    EXPECT_EQ(reply.body, expected[reply.unique]);
  }
  other.join();
}

TEST_F(FuseSessionTest, JoinsThePiecesOfAnAnswer) {
  kernel_.Init();
  kernel_.SendRead(kData0, 0, 100'000);
  WaitingServer::Waiting read = server_.Take();
  const std::string bytes = "0123456789";
  const std::vector<Piece> few(10, Piece(bytes.data(), bytes.size()));
  read.reply->SendData(few);
  EXPECT_EQ(kernel_.Receive().body.size(), 100u);

  kernel_.SendRead(kData0, 0, 100'000);
  const std::vector<Piece> more_than_iov_max(3'000, Piece(bytes.data(), bytes.size()));
  server_.Take().reply->SendData(more_than_iov_max);
  const std::string body = kernel_.Receive().body;
  EXPECT_EQ(body.size(), 30'000u);
  EXPECT_EQ(body.substr(29'990), bytes);
}

TEST_F(FuseSessionTest, CutsReadsAtTheEndOfTheFile) {
  kernel_.Init();
  kernel_.SendRead(kData1, 4096, 8192);
  EXPECT_EQ(server_.Take().range,
            (ByteRange{4096, 4097}));  // Dropped without an answer: the last packet below.
  EXPECT_EQ(kernel_.Receive().error, EIO);
  kernel_.SendRead(kData1, 8192, 4096);
  EXPECT_EQ(kernel_.Receive().body, "");
  kernel_.SendRead(kEmpty, 0, 4096);
  EXPECT_EQ(kernel_.Receive().body, "");
}

TEST_F(FuseSessionTest, AReadThatTakesTooLongFails) {
  kernel_.Init();
  const uint64_t unique = kernel_.SendRead(kData0, 0, 4096);
  WaitingServer::Waiting forgotten = server_.Take();
  time_.Advance(absl::Seconds(100));
  const FakeKernel::Reply reply = kernel_.Receive();
  EXPECT_EQ(reply.unique, unique);
  EXPECT_EQ(reply.error, EIO);
  EXPECT_EQ(session_->reads_timed_out(), 1u);
  forgotten.Send("too late");
  EXPECT_FALSE(kernel_.HasReply());
}

TEST_F(FuseSessionTest, UnmountEndsItAndForgetsWhatIsInFlight) {
  kernel_.Init();
  kernel_.SendRead(kData0, 0, 4096);
  WaitingServer::Waiting read = server_.Take();
  kernel_.Unmount();
  EXPECT_OK(session_.Join());
  read.Send("nobody listens");
}

TEST_F(FuseSessionTest, StopAnswersWhatItTookAndASuccessorGoesOn) {
  kernel_.Init();
  kernel_.SendRead(kData0, 0, 4096);
  WaitingServer::Waiting read = server_.Take();
  session_->Stop();
  absl::Notification returned;
  std::thread serving([&] {
    EXPECT_OK(session_.Join());
    returned.Notify();
  });
  // It must wait for the answer. This can only miss an early return, never see one that is not there.
  EXPECT_FALSE(returned.WaitForNotificationWithTimeout(absl::Milliseconds(50)));
  read.Send("of the first session");
  serving.join();
  EXPECT_EQ(kernel_.Receive().body, "of the first session");

  kernel_.SendRead(kData1, 0, 4096);  // Nobody is there to take it yet.
  RunningSession successor(kernel_, slots_, server_, time_);
  server_.Take().Send("of the second session");
  EXPECT_EQ(kernel_.Receive().body, "of the second session");
  EXPECT_EQ(kernel_.Lookup("data0").As<fuse_entry_out>().nodeid, kData0);
}

TEST_F(FuseSessionTest, AKernelOfAnotherProtocolIsRefused) {
  fuse_init_in init{};
  init.major = 6;
  EXPECT_EQ(kernel_.Call(FUSE_INIT, 0, init).error, EPROTO);
}

TEST_F(FuseSessionTest, StopBeforeAnythingCame) { EXPECT_OK(session_.Stop()); }

TEST(FuseSessionDescriptorTest, ABadDescriptorIsAnError) {
  VirtualTime time;
  WaitingServer server;
  RequestSlots slots = MakeSlots();
  FuseSession session(FuseSessionSettings(), slots, time, time);
  EXPECT_THAT(session.Serve(UniqueFd(), server),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("descriptor")));
}

TEST(FuseSessionDescriptorTest, AnUnreadableDescriptorIsAnError) {
  VirtualTime time;
  WaitingServer server;
  RequestSlots slots = MakeSlots();
  FuseSession session(FuseSessionSettings(), slots, time, time);
  UniqueFd directory(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_THAT(session.Serve(std::move(directory), server),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("Is a directory")));
}

}  // namespace
}  // namespace bucketvol
