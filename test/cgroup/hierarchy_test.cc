#include "mounter/cgroup/hierarchy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bucketvol {
namespace {

using ::testing::ElementsAre;

TEST(HierarchyTest, ReadsAHybridMachine) {
  const auto found = ParseHierarchies(
      "25 30 0:22 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
      "26 25 0:23 / /sys/fs/cgroup/unified rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
      "27 25 0:24 / /sys/fs/cgroup/systemd rw,nosuid shared:5 - cgroup cgroup rw,xattr,name=systemd\n"
      "31 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 master:1 - cgroup cgroup rw,cpu,cpuacct\n"
      "32 25 0:29 / /odd\\040place\\134x rw - cgroup cgroup rw,memory,release_agent=/bin/x\n");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].version, CgroupVersion::kV2);
  EXPECT_EQ(found[0].mount_point, "/sys/fs/cgroup/unified");
  EXPECT_THAT(found[0].controllers, ElementsAre());
  EXPECT_EQ(found[1].version, CgroupVersion::kV1);
  EXPECT_THAT(found[1].controllers, ElementsAre("name=systemd"));
  EXPECT_THAT(found[2].controllers, ElementsAre("cpu", "cpuacct"));
  EXPECT_TRUE(found[2].Has("cpuacct"));
  EXPECT_FALSE(found[2].Has("memory"));
  EXPECT_EQ(found[3].mount_point, "/odd place\\x");
  EXPECT_THAT(found[3].controllers, ElementsAre("memory"));
}

TEST(HierarchyTest, TakesTheFirstMountOfAHierarchy) {
  const auto found = ParseHierarchies(
      "1 0 0:24 / /a rw - cgroup cgroup rw,cpu\n"
      "2 0 0:24 / /b rw - cgroup cgroup rw,cpu\n"
      "3 0 0:25 / /c rw - cgroup2 none rw\n"
      "4 0 0:25 / /d rw - cgroup2 none rw\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].mount_point, "/a");
  EXPECT_EQ(found[1].mount_point, "/c");
}

TEST(HierarchyTest, DamagedLinesAreNoHierarchies) {
  for (const char* text :
       {"", "\n", "1 2 3", " - ", "1 0 0:1 / /a rw - cgroup", "1 0 0:1 /a rw - cgroup2 x rw"})
    EXPECT_TRUE(ParseHierarchies(text).empty()) << text;
}

}  // namespace
}  // namespace bucketvol
