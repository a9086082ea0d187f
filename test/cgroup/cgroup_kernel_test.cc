// The real hierarchies of this machine, with a tree of their own. Skipped where they cannot be written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>

#include "mounter/cgroup/cgroup_tree.h"
#include "mounter/cgroup/control_file.h"
#include "mounter/guard/small_file.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

constexpr uint64_t kMemory = 64 << 20;
constexpr CgroupLimits kLimits{500, kMemory};

std::string OwnName(const std::string& test) { return "test-" + test + "-" + std::to_string(getpid()); }

bool Exists(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    if (std::filesystem::exists(directory)) return true;
  }
  return false;
}

// Runs `work` in a process of its own; its wait status.
int InChild(const std::function<void()>& work) {
  const pid_t pid = fork();
  if (pid == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

void Touch(size_t bytes) {
  char* memory = static_cast<char*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  if (memory == MAP_FAILED) _exit(2);
  munmap(memory, bytes);
}

class CgroupKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto tree = CgroupTree::Open(ReadSmallFile("/proc/self/mountinfo", 16 << 20));
    if (!tree.ok()) GTEST_SKIP() << tree.status().message();
    tree_.emplace(*std::move(tree));
    name_ = OwnName(::testing::UnitTest::GetInstance()->current_test_info()->name());
    auto cgroup = tree_->Create(name_, kLimits);
    if (!cgroup.ok() && geteuid() != 0) GTEST_SKIP() << cgroup.status().message();
    ASSERT_OK(cgroup.status());
    cgroup_ = *std::move(cgroup);
  }
  void TearDown() override {
    cgroup_.Remove();
    if (tree_) tree_->Collect();
  }

  std::optional<CgroupTree> tree_;
  std::string name_;
  HeldCgroup cgroup_;
};

TEST_F(CgroupKernelTest, LimitsAreInTheKernel) {
  const CgroupUsage usage = ReadUsage(cgroup_.directories());
  EXPECT_EQ(usage.memory_limit, kMemory);
  EXPECT_EQ(usage.cpu_limit_milli, 500u);
}

TEST_F(CgroupKernelTest, AProcessIsLimitedOnceItIsIn) {
  const int within = InChild([&] {
    if (cgroup_.Enter() != 0) _exit(1);
    Touch(kMemory / 2);
  });
  EXPECT_EQ(within, 0);
  const int beyond = InChild([&] {
    if (cgroup_.Enter() != 0) _exit(1);
    Touch(kMemory * 2);
  });
  ASSERT_TRUE(WIFSIGNALED(beyond)) << beyond;
  EXPECT_EQ(WTERMSIG(beyond), SIGKILL);
  const CgroupUsage usage = ReadUsage(cgroup_.directories());
  EXPECT_EQ(usage.memory_kills, 1u);
  EXPECT_GE(usage.memory_peak, kMemory / 2);
  EXPECT_LE(usage.memory_peak, kMemory);
  EXPECT_GT(usage.cpu_usec, 0u);
}

TEST_F(CgroupKernelTest, AProcessInItIsFound) {
  std::vector<std::string> found;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  EXPECT_EQ(InChild([&] {
              if (cgroup_.Enter() != 0) _exit(1);
              const std::string text =
                  JoinDirectories(tree_->DirectoriesOfProcess(ReadSmallFile("/proc/self/cgroup")));
              if (write(pipes[1], text.data(), text.size()) < 0) _exit(1);
            }),
            0);
  close(pipes[1]);
  char text[4096];
  const ssize_t size = read(pipes[0], text, sizeof text);
  close(pipes[0]);
  ASSERT_GE(size, 0);
  EXPECT_EQ(SplitDirectories({text, static_cast<size_t>(size)}), cgroup_.directories());
}

TEST_F(CgroupKernelTest, OnlyWhatNobodyHoldsIsCollected) {
  const std::vector<std::string> directories = cgroup_.directories();
  tree_->Collect();
  EXPECT_TRUE(Exists(directories));
  cgroup_ = HeldCgroup();
  tree_->Collect();
  EXPECT_FALSE(Exists(directories));
}

TEST_F(CgroupKernelTest, AHolderThatWasKilledLeavesALeftover) {
  const std::vector<std::string> directories = cgroup_.directories();
  const int status = InChild([&] {
    HeldCgroup held;
    if (HeldCgroup::Hold(directories, held) != 0 || held.Enter() != 0) _exit(1);
    cgroup_ = HeldCgroup();
    raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  cgroup_ = HeldCgroup();
  tree_->Collect();
  EXPECT_FALSE(Exists(directories));
}

TEST_F(CgroupKernelTest, RemoveTakesAllDirectoriesButNotFromUnderAProcess) {
  const std::vector<std::string> directories = cgroup_.directories();
  EXPECT_EQ(InChild([&] {
              if (cgroup_.Enter() != 0 || cgroup_.Remove()) _exit(1);
            }),
            0);
  EXPECT_TRUE(Exists(directories));
  EXPECT_TRUE(cgroup_.Remove());
  EXPECT_FALSE(Exists(directories));
}

TEST_F(CgroupKernelTest, AnOldPeakIsNotTheNewOnes) {
  EXPECT_EQ(InChild([&] {
              if (cgroup_.Enter() != 0) _exit(1);
              Touch(kMemory / 2);
            }),
            0);
  cgroup_ = HeldCgroup();
  ASSERT_OK_AND_ASSIGN(cgroup_, tree_->Create(name_, kLimits));
  EXPECT_LT(ReadUsage(cgroup_.directories()).memory_peak, kMemory / 4);
}

TEST_F(CgroupKernelTest, AGuardIsOutsideTheVolumesCgroup) {
  ASSERT_OK_AND_ASSIGN(const HeldCgroup guards, tree_->HoldGuards(CgroupTree::Scope::kEverything));
  EXPECT_EQ(InChild([&] {
              if (guards.Enter() != 0) _exit(1);
              // More than the volume may have.
              Touch(kMemory * 2);
            }),
            0);
}

}  // namespace
}  // namespace bucketvol
