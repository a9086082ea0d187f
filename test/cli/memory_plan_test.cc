#include "mounter/cli/memory_plan.h"

#include <string>

#include "gtest/gtest.h"
#include "mounter/base/file.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kGiB = 1 << 30;

VolumeOptions Options(uint64_t resource_limit, uint64_t budget) {
  VolumeOptions options;
  if (resource_limit > 0) options.resource_limit = ResourceLimit{2, resource_limit};
  options.memory_budget = budget;
  return options;
}

TEST(PlanMemoryTest, TakesHalfOfTheLimit) {
  const MemoryPlan plan = PlanMemory(Options(4 * kGiB, 0), 0, 64 * kGiB);
  EXPECT_EQ(plan.limit, 4 * kGiB);
  EXPECT_EQ(plan.budget, 2 * kGiB);
  EXPECT_EQ(PlanMemory(Options(0, 0), 256 * kMiB, 64 * kGiB).budget, 128 * kMiB);
}

TEST(PlanMemoryTest, TheLesserLimitCounts) {
  EXPECT_EQ(PlanMemory(Options(4 * kGiB, 0), 512 * kMiB, 64 * kGiB).limit, 512 * kMiB);
  EXPECT_EQ(PlanMemory(Options(1 * kGiB, 0), 8 * kGiB, 64 * kGiB).limit, 1 * kGiB);
}

TEST(PlanMemoryTest, TheOptionCountsAsFarAsTheRestOfTheProgramFits) {
  EXPECT_EQ(PlanMemory(Options(0, 300 * kMiB), 0, 64 * kGiB).budget, 300 * kMiB);
  EXPECT_EQ(PlanMemory(Options(0, 100 * kMiB), 512 * kMiB, 64 * kGiB).budget, 100 * kMiB);
  EXPECT_EQ(PlanMemory(Options(0, 8 * kGiB), 512 * kMiB, 64 * kGiB).budget, 448 * kMiB);
  EXPECT_EQ(PlanMemory(Options(8 * kGiB, 8 * kGiB), 0, 64 * kGiB).budget, 7 * kGiB);
  EXPECT_EQ(PlanMemory(Options(0, kGiB), 100 * kMiB, 64 * kGiB).budget, 50 * kMiB);
}

TEST(PlanMemoryTest, WithoutALimitItDependsOnTheMachine) {
  EXPECT_EQ(PlanMemory(Options(0, 0), 0, 512 * kMiB).budget, 128 * kMiB);
  EXPECT_EQ(PlanMemory(Options(0, 0), 0, 4 * kGiB).budget, kGiB);
  EXPECT_EQ(PlanMemory(Options(0, 0), 0, 512 * kGiB).budget, 4 * kGiB);
  EXPECT_EQ(PlanMemory(Options(0, 0), 0, 4 * kGiB).limit, 0u);
}

class CgroupTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& content) {
    const std::string whole = directory_ / path;
    ASSERT_OK(MakeDirectories(whole.substr(0, whole.rfind('/'))));
    ASSERT_OK(WriteFileAtomically(whole, content));
  }
  uint64_t Limit() { return ReadCgroupMemoryLimit(directory_.path()); }

  testing::TempDir directory_;
};

TEST_F(CgroupTest, FindsTheLimitOfVersion1AlongThePath) {
  Write("proc/self/cgroup", "8:pids:/a\n4:memory:/a/b\n0::/\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "268435456\n");
  Write("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "536870912\n");
  EXPECT_EQ(Limit(), 256 * kMiB);
}

TEST_F(CgroupTest, FindsTheLimitOfVersion2) {
  Write("proc/self/cgroup", "0::/kubepods/pod1/worker\n");
  Write("sys/fs/cgroup/kubepods/pod1/worker/memory.max", "max\n");
  Write("sys/fs/cgroup/kubepods/pod1/memory.max", "1073741824\n");
  EXPECT_EQ(Limit(), kGiB);
}

TEST_F(CgroupTest, NoneIsNone) {
  EXPECT_EQ(Limit(), 0u);
  Write("proc/self/cgroup", "garbage\n0::/\n4:memory:/gone\n");
  EXPECT_EQ(Limit(), 0u);
}

}  // namespace
}  // namespace bucketvol
