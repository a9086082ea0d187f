#include "mounter/base/executor.h"

#include <atomic>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace bucketvol {
namespace {

TEST(ThreadPoolTest, RunsEverythingPostedBeforeTheEnd) {
  std::atomic<int> ran = 0;
  {
    ThreadPool pool("test", 3);
    for (int i = 0; i < 1000; ++i) pool.Post([&] { ++ran; });
  }
  EXPECT_EQ(ran, 1000);
}

TEST(ThreadPoolTest, RunsDelayedTasksInOrderOfTheirTime) {
  std::vector<int> order;
  absl::Notification done;
  ThreadPool pool("test", 1);
  pool.PostAfter(absl::Milliseconds(20), [&] {
    order.push_back(2);
    done.Notify();
  });
  pool.PostAfter(absl::Milliseconds(5), [&] { order.push_back(1); });
  done.WaitForNotification();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(ThreadPoolTest, DropsDelayedTasksAtTheEnd) {
  std::atomic<int> ran = 0;
  {
    ThreadPool pool("test", 1);
    pool.PostAfter(absl::Hours(1), [&] { ++ran; });
  }
  EXPECT_EQ(ran, 0);
}

}  // namespace
}  // namespace bucketvol
