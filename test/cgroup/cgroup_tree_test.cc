#include "mounter/cgroup/cgroup_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "test/cgroup/fake_cgroups.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using testing::FakeCgroups;
using ::testing::HasSubstr;

constexpr CgroupLimits kLimits{1'500, uint64_t{1} << 30};

TEST(CgroupTreeTest, LimitsInVersion2) {
  FakeCgroups fake({"v"});
  fake.AddVersion2("cpuset cpu io memory pids");
  ASSERT_OK_AND_ASSIGN(const CgroupTree tree, CgroupTree::Open(fake.mountinfo()));
  ASSERT_OK_AND_ASSIGN(const HeldCgroup cgroup, tree.Create("v", kLimits));
  EXPECT_THAT(cgroup.directories(), ElementsAre(fake / "unified/bucketvol/v"));
  EXPECT_EQ(fake.Read("unified/bucketvol/v/memory.max"), "1073741824");
  EXPECT_EQ(fake.Read("unified/bucketvol/v/cpu.max"), "150000 100000");
  EXPECT_EQ(fake.Read("unified/bucketvol/v/cpu.weight"), "150");
  // A child can only be limited by controllers that its parents pass down; the volume has no children.
  EXPECT_EQ(fake.Read("unified/cgroup.subtree_control"), "+memory");
  EXPECT_EQ(fake.Read("unified/bucketvol/cgroup.subtree_control"), "+memory");
  EXPECT_EQ(fake.Read("unified/bucketvol/v/cgroup.subtree_control"), "");
}

TEST(CgroupTreeTest, LimitsInVersion1) {
  FakeCgroups fake({"v"});
  fake.AddVersion1("cpu,cpuacct");
  fake.AddVersion1("memory");
  fake.AddVersion1("pids");
  ASSERT_OK_AND_ASSIGN(const CgroupTree tree, CgroupTree::Open(fake.mountinfo()));
  ASSERT_OK_AND_ASSIGN(const HeldCgroup cgroup, tree.Create("v", kLimits));
  EXPECT_THAT(cgroup.directories(),
              ElementsAre(fake / "cpu,cpuacct/bucketvol/v", fake / "memory/bucketvol/v"));
  EXPECT_EQ(fake.Read("memory/bucketvol/v/memory.limit_in_bytes"), "1073741824");
  EXPECT_EQ(fake.Read("cpu,cpuacct/bucketvol/v/cpu.cfs_period_us"), "100000");
  EXPECT_EQ(fake.Read("cpu,cpuacct/bucketvol/v/cpu.cfs_quota_us"), "150000");
  EXPECT_EQ(fake.Read("cpu,cpuacct/bucketvol/v/cpu.shares"), "1536");
  EXPECT_EQ(fake.Read("memory/bucketvol/v/cpu.cfs_quota_us"), "-1");
}

TEST(CgroupTreeTest, AHybridMachineGivesEachControllerWhereItIs) {
  FakeCgroups fake({"v"});
  fake.AddVersion1("memory");
  fake.AddVersion2("cpu");
  ASSERT_OK_AND_ASSIGN(const CgroupTree tree, CgroupTree::Open(fake.mountinfo()));
  ASSERT_OK_AND_ASSIGN(const HeldCgroup cgroup, tree.Create("v", kLimits));
  EXPECT_EQ(fake.Read("memory/bucketvol/v/memory.limit_in_bytes"), "1073741824");
  EXPECT_EQ(fake.Read("unified/bucketvol/v/cpu.max"), "150000 100000");
  EXPECT_EQ(fake.Read("unified/bucketvol/v/memory.max"), "max");
}

TEST(CgroupTreeTest, TheTotalIsCappedAndUncapped) {
  FakeCgroups fake({});
  fake.AddVersion1("memory");
  fake.AddVersion2("cpu");
  ASSERT_OK_AND_ASSIGN(const CgroupTree tree, CgroupTree::Open(fake.mountinfo()));
  EXPECT_OK(tree.LimitTotal(uint64_t{4} << 30));
  EXPECT_EQ(fake.Read("memory/bucketvol/memory.limit_in_bytes"), "4294967296");
  EXPECT_OK(tree.LimitTotal(std::nullopt));
  EXPECT_EQ(fake.Read("memory/bucketvol/memory.limit_in_bytes"), "-1");
}

TEST(CgroupTreeTest, GuardsLeaveWhatTheirCallerWants) {
  FakeCgroups fake({"guards"});
  fake.AddVersion1("memory");
  fake.AddVersion1("cpu");
  fake.AddVersion1("cpuset");
  fake.AddVersion2("");
  fake.Write("cpuset/cpuset.cpus", "0-3\n");
  fake.Write("cpuset/cpuset.mems", "0\n");
  ASSERT_OK_AND_ASSIGN(const CgroupTree tree, CgroupTree::Open(fake.mountinfo()));
  ASSERT_OK_AND_ASSIGN(const HeldCgroup limited, tree.HoldGuards(CgroupTree::Scope::kLimits));
  EXPECT_THAT(limited.directories(),
              ElementsAre(fake / "memory/bucketvol/guards", fake / "cpu/bucketvol/guards"));
  EXPECT_EQ(fake.Read("memory/bucketvol/guards/memory.limit_in_bytes"), "9223372036854771712");
  ASSERT_OK_AND_ASSIGN(const HeldCgroup everything, tree.HoldGuards(CgroupTree::Scope::kEverything));
  EXPECT_THAT(everything.directories(),
              ElementsAre(fake / "memory/bucketvol/guards", fake / "cpu/bucketvol/guards",
                          fake / "cpuset/bucketvol/guards", fake / "unified/bucketvol/guards"));
  // A cpuset that is empty takes no process.
  EXPECT_EQ(fake.Read("cpuset/bucketvol/guards/cpuset.cpus"), "0-3");
  EXPECT_EQ(fake.Read("cpuset/bucketvol/guards/cpuset.mems"), "0");
  ASSERT_EQ(EnterCgroup(everything.directories()), 0);
  EXPECT_EQ(fake.Read("unified/bucketvol/guards/cgroup.procs"), "0");
}

TEST(CgroupTreeTest, AMissingControllerIsNamed) {
  FakeCgroups fake({});
  fake.AddVersion2("cpu pids");
  EXPECT_THAT(CgroupTree::Open(fake.mountinfo()),
              testing::StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\"memory\"")));
}

TEST(CgroupTreeTest, WhatCannotBeWrittenIsNamed) {
  FakeCgroups fake({"v"});
  fake.AddVersion2("cpu memory");
  std::filesystem::remove(fake / "unified/bucketvol/v/memory.max");
  ASSERT_OK_AND_ASSIGN(const CgroupTree tree, CgroupTree::Open(fake.mountinfo()));
  const auto cgroup = tree.Create("v", kLimits);
  EXPECT_THAT(cgroup.status().message(), HasSubstr("resourceLimit"));
  EXPECT_THAT(cgroup.status().message(), HasSubstr("bucketvol/v/memory.max"));
}

TEST(CgroupTreeTest, FindsTheCgroupOfAProcess) {
  FakeCgroups fake({});
  fake.AddVersion1("cpu");
  fake.AddVersion1("memory");
  ASSERT_OK_AND_ASSIGN(const CgroupTree tree, CgroupTree::Open(fake.mountinfo()));
  EXPECT_THAT(tree.DirectoriesOfProcess("9:pids:/\n4:memory:/bucketvol/v-1\n1:cpu:/bucketvol/v-1\n0::/\n"),
              ElementsAre(fake / "cpu/bucketvol/v-1", fake / "memory/bucketvol/v-1"));
  EXPECT_THAT(tree.DirectoriesOfProcess("4:memory:/user.slice\n0::/bucketvolume/x\n"), ElementsAre());
  EXPECT_THAT(tree.DirectoriesOfProcess(""), ElementsAre());
}

TEST(HeldCgroupTest, DirectoriesComeBackFromTheirText) {
  const std::vector<std::string> directories = {"/a b", "/c"};
  EXPECT_EQ(SplitDirectories(JoinDirectories(directories)), directories);
  EXPECT_THAT(SplitDirectories(""), ElementsAre());
  EXPECT_THAT(SplitDirectories(JoinDirectories({})), ElementsAre());
}

TEST(HeldCgroupTest, ADirectoryThatIsGoneIsNotHeld) {
  FakeCgroups fake({"v"});
  fake.AddVersion2("cpu memory");
  HeldCgroup cgroup;
  EXPECT_EQ(HeldCgroup::Hold({fake / "unified/bucketvol/v", fake / "unified/gone"}, cgroup), ENOENT);
  EXPECT_TRUE(cgroup.directories().empty());
}

}  // namespace
}  // namespace bucketvol
