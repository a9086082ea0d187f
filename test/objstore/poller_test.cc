#include "mounter/objstore/poller.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

// A pipe whose reading end has the number `fd`, and holds a byte.
class FullPipe {
 public:
  explicit FullPipe(int fd) : read_(fd) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_EQ(dup3(ends[0], fd, O_CLOEXEC), fd);
    close(ends[0]);
    write_ = ends[1];
  }
  ~FullPipe() {
    close(write_);
    close(read_);
  }

 private:
  const int read_;
  int write_ = -1;
};

class PollerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Poller> poller = Poller::Make();
    ASSERT_OK(poller);
    poller_.emplace(*std::move(poller));
  }
  std::vector<int> Ready() {
    std::vector<int> ready;
    poller_->Wait(absl::ZeroDuration(), [&](const Poller::Event& event) { ready.push_back(event.fd); });
    return ready;
  }

  static constexpr int kFd = 200;
  std::optional<Poller> poller_;
};

TEST_F(PollerTest, ReportsWhatIsWatched) {
  const FullPipe pipe(kFd);
  EXPECT_TRUE(Ready().empty());
  poller_->Watch(kFd, {.read = true});
  EXPECT_EQ(Ready(), std::vector<int>{kFd});
  poller_->Forget(kFd);
  EXPECT_TRUE(Ready().empty());
}

TEST_F(PollerTest, AConnectionGoesFromOneRequestToTheNext) {
  const FullPipe pipe(kFd);
  poller_->Opened(kFd);
  poller_->Watch(kFd, {.read = true});
  poller_->Forget(kFd);
  poller_->Watch(kFd, {.read = true});
  EXPECT_EQ(Ready(), std::vector<int>{kFd});
  poller_->Forget(kFd);
  EXPECT_TRUE(Ready().empty());
  EXPECT_TRUE(Ready().empty());
  poller_->Watch(kFd, {.read = true});
  EXPECT_EQ(Ready(), std::vector<int>{kFd});
}

// As a resolver's pipe, which libcurl closes by itself.
TEST_F(PollerTest, ANumberThatComesBackIsAnotherDescriptor) {
  {
    const FullPipe closed_by_others(kFd);
    poller_->Watch(kFd, {.read = true});
    poller_->Forget(kFd);
  }
  {
    const FullPipe next(kFd);
    poller_->Watch(kFd, {.read = true});
    EXPECT_EQ(Ready(), std::vector<int>{kFd});
    poller_->Forget(kFd);
  }
  const FullPipe connection(kFd);
  poller_->Opened(kFd);
  poller_->Watch(kFd, {.read = true, .write = true});
  EXPECT_EQ(Ready(), std::vector<int>{kFd});
  poller_->Watch(kFd, {.read = true});
  EXPECT_EQ(Ready(), std::vector<int>{kFd});
}

TEST_F(PollerTest, AConnectionThatWasClosedIsForgotten) {
  {
    const FullPipe connection(kFd);
    poller_->Opened(kFd);
    poller_->Watch(kFd, {.read = true});
    poller_->Forget(kFd);
    poller_->Closing(kFd);
  }
  const FullPipe next(kFd);
  poller_->Opened(kFd);
  poller_->Watch(kFd, {.read = true});
  EXPECT_EQ(Ready(), std::vector<int>{kFd});
}

TEST_F(PollerTest, WakeEndsTheNextWait) {
  poller_->Wake();
  poller_->Wait(absl::InfiniteDuration(), [](const Poller::Event&) {});
}

}  // namespace
}  // namespace bucketvol
