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

CgroupMemory In(uint64_t limit) { return {limit, 17}; }

TEST(PlanMemoryTest, TakesHalfOfTheLimit) {
  const MemoryPlan plan = PlanMemory(Options(4 * kGiB, 0), {}, 64 * kGiB);
  EXPECT_EQ(plan.limit, 4 * kGiB);
  EXPECT_EQ(plan.budget, 2 * kGiB);
  EXPECT_EQ(PlanMemory(Options(0, 0), In(256 * kMiB), 64 * kGiB).budget, 128 * kMiB);
}

TEST(PlanMemoryTest, TheLesserLimitCounts) {
  EXPECT_EQ(PlanMemory(Options(4 * kGiB, 0), In(512 * kMiB), 64 * kGiB).limit, 512 * kMiB);
  EXPECT_EQ(PlanMemory(Options(1 * kGiB, 0), In(8 * kGiB), 64 * kGiB).limit, 1 * kGiB);
}

TEST(PlanMemoryTest, TheOptionCountsAsFarAsTheRestOfTheProgramFits) {
  EXPECT_EQ(PlanMemory(Options(0, 300 * kMiB), {}, 64 * kGiB).budget, 300 * kMiB);
  EXPECT_EQ(PlanMemory(Options(0, 100 * kMiB), In(512 * kMiB), 64 * kGiB).budget, 100 * kMiB);
  EXPECT_EQ(PlanMemory(Options(0, 8 * kGiB), In(512 * kMiB), 64 * kGiB).budget, 448 * kMiB);
  EXPECT_EQ(PlanMemory(Options(8 * kGiB, 8 * kGiB), {}, 64 * kGiB).budget, 7 * kGiB);
  EXPECT_EQ(PlanMemory(Options(0, kGiB), In(100 * kMiB), 64 * kGiB).budget, 50 * kMiB);
}

TEST(PlanMemoryTest, WithoutALimitItDependsOnTheMachine) {
  EXPECT_EQ(PlanMemory(Options(0, 0), {}, 512 * kMiB).budget, 128 * kMiB);
  EXPECT_EQ(PlanMemory(Options(0, 0), {}, 4 * kGiB).budget, kGiB);
  EXPECT_EQ(PlanMemory(Options(0, 0), {}, 512 * kGiB).budget, 4 * kGiB);
  EXPECT_EQ(PlanMemory(Options(0, 0), {}, 4 * kGiB).limit, 0u);
}

TEST(PlanMemoryTest, TheNodesShareIsHalfOfTheMachineOrOfTheCgroupOfSeveral) {
  const NodeShareSettings machine = PlanMemory(Options(0, 0), {}, 24 * kGiB).node;
  EXPECT_EQ(machine.total_bytes, 12 * kGiB);
  EXPECT_EQ(machine.scope, 0u);
  EXPECT_EQ(machine.claim, NodeLedger::Claim::kShared);
  const NodeShareSettings inside = PlanMemory(Options(0, 0), In(4 * kGiB), 24 * kGiB).node;
  EXPECT_EQ(inside.total_bytes, 2 * kGiB);
  EXPECT_EQ(inside.scope, 17u);
  EXPECT_EQ(inside.claim, NodeLedger::Claim::kShared);
  EXPECT_EQ(PlanMemory(Options(0, 0), In(32 * kGiB), 24 * kGiB).node.scope, 0u);
}

TEST(PlanMemoryTest, WhatWasAskedForIsFirm) {
  const NodeShareSettings limited = PlanMemory(Options(kGiB, 0), In(kGiB), 24 * kGiB).node;
  EXPECT_EQ(limited.claim, NodeLedger::Claim::kFirm);
  EXPECT_EQ(limited.scope, 0u);
  EXPECT_EQ(limited.total_bytes, 12 * kGiB);
  EXPECT_EQ(PlanMemory(Options(0, kGiB), {}, 24 * kGiB).node.claim, NodeLedger::Claim::kFirm);
}

TEST(PlanMemoryTest, TheOptionSaysWhatTheNodeMayUse) {
  VolumeOptions options;
  options.node_memory_budget = 3 * kGiB;
  EXPECT_EQ(PlanMemory(options, {}, 24 * kGiB).node.total_bytes, 3 * kGiB);
  EXPECT_EQ(PlanMemory(options, In(4 * kGiB), 24 * kGiB).node.total_bytes, 3 * kGiB);
}

class CgroupTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& content) {
    const std::string whole = directory_ / path;
    ASSERT_OK(MakeDirectories(whole.substr(0, whole.rfind('/'))));
    ASSERT_OK(WriteFileAtomically(whole, content));
  }
  uint64_t Limit() { return ReadCgroupMemory(directory_.path()).limit; }

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

TEST_F(CgroupTest, KnowsTheCgroupThatLimitsMost) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/b/memory.max", "1073741824\n");
  Write("sys/fs/cgroup/a/memory.max", "1073741824\n");
  const uint64_t outer = ReadCgroupMemory(directory_.path()).id;
  EXPECT_NE(outer, 0u);
  Write("sys/fs/cgroup/a/b/memory.max", "1073741823\n");
  EXPECT_NE(ReadCgroupMemory(directory_.path()).id, outer);
  Write("proc/self/cgroup", "0::/a/c\n");
  EXPECT_EQ(ReadCgroupMemory(directory_.path()).id, outer);
}

TEST_F(CgroupTest, NoneIsNone) {
  EXPECT_EQ(Limit(), 0u);
  Write("proc/self/cgroup", "garbage\n0::/\n4:memory:/gone\n");
  EXPECT_EQ(Limit(), 0u);
}

}  // namespace
}  // namespace bucketvol
