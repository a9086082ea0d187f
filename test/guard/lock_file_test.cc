#include "mounter/guard/lock_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {
namespace {

bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

TEST(LockFileTest, HasOneOwnerAndIsGoneWithIt) {
  TempDir dir;
  const std::string path = dir / "locks/one";
  {
    const auto lock = LockFile::Take(path);
    ASSERT_TRUE(lock.ok()) << lock.failure().text;
    EXPECT_TRUE(LockFile::IsHeld(path));
    const auto second = LockFile::Take(path);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.failure().error, EBUSY);
    EXPECT_FALSE(LockFile::TakeStale(path).has_value());
    EXPECT_TRUE(LockFile::Take(dir / "locks/other").ok());
  }
  EXPECT_FALSE(IsThere(path));
  EXPECT_FALSE(LockFile::IsHeld(path));
  EXPECT_FALSE(LockFile::TakeStale(path).has_value());
}

TEST(LockFileTest, TheLockOfAKilledOwnerIsFree) {
  TempDir dir;
  const std::string path = dir / "one";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    const auto lock = LockFile::Take(path);
    if (write(ready[1], "x", 1) == 1) pause();
    _exit(1);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(LockFile::Take(path).ok());
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(IsThere(path));
  EXPECT_FALSE(LockFile::IsHeld(path));
  std::optional<LockFile> stale = LockFile::TakeStale(path);
  ASSERT_TRUE(stale.has_value());
  stale->Remove();
  EXPECT_FALSE(IsThere(path));
  EXPECT_TRUE(LockFile::Take(path).ok());
}

// Files that are removed and made again are the same lock to all.
TEST(LockFileTest, NeverHasTwoOwners) {
  TempDir dir;
  std::atomic<int> owners = 0;
  std::atomic<int> taken = 0;
  const auto compete = [&] {
    for (int i = 0; i < 200; ++i) {
      const auto lock = LockFile::Take(dir / "one");
      if (!lock.ok()) continue;
      EXPECT_EQ(owners.fetch_add(1), 0);
      ++taken;
      owners.fetch_sub(1);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(compete);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(taken, 200);
  EXPECT_FALSE(IsThere(dir / "one"));
}

TEST(LockFileTest, DoesNotFollowLinks) {
  TempDir dir;
  ASSERT_EQ(symlink((dir / "target").c_str(), (dir / "one").c_str()), 0);
  EXPECT_FALSE(LockFile::Take(dir / "one").ok());
  EXPECT_FALSE(IsThere(dir / "target"));
}

}  // namespace
}  // namespace bucketvol::testing
