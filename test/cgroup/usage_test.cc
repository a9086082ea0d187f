#include "mounter/cgroup/usage.h"

#include <gtest/gtest.h>

#include "test/cgroup/fake_cgroups.h"

namespace bucketvol {
namespace {

using testing::FakeCgroups;

TEST(UsageTest, ReadsVersion1) {
  FakeCgroups fake({"x"});
  fake.AddVersion1("memory");
  fake.Write("memory/bucketvol/x/memory.limit_in_bytes", "1073741824\n");
  fake.Write("memory/bucketvol/x/cpu.cfs_quota_us", "150000\n");
  const CgroupUsage usage = ReadUsage({fake / "memory/bucketvol/x"});
  EXPECT_EQ(usage.memory_limit, 1u << 30);
  EXPECT_EQ(usage.memory_used, 11u);
  EXPECT_EQ(usage.memory_peak, 22u);
  EXPECT_EQ(usage.memory_kills, 3u);
  EXPECT_EQ(usage.cpu_limit_milli, 1500u);
  EXPECT_EQ(usage.cpu_usec, 7'000u);
  EXPECT_EQ(usage.throttled_usec, 5'000u);
}

TEST(UsageTest, ReadsVersion2) {
  FakeCgroups fake({"x"});
  fake.AddVersion2("cpu memory");
  fake.Write("unified/bucketvol/x/memory.max", "1073741824\n");
  fake.Write("unified/bucketvol/x/cpu.max", "50000 100000\n");
  const CgroupUsage usage = ReadUsage({fake / "unified/bucketvol/x"});
  EXPECT_EQ(usage.memory_limit, 1u << 30);
  EXPECT_EQ(usage.memory_used, 33u);
  EXPECT_EQ(usage.memory_peak, 44u);
  EXPECT_EQ(usage.memory_kills, 4u);
  EXPECT_EQ(usage.cpu_limit_milli, 500u);
  EXPECT_EQ(usage.cpu_usec, 8'000u);
  EXPECT_EQ(usage.throttled_usec, 6'000u);
}

TEST(UsageTest, NoLimitIsZero) {
  FakeCgroups fake({"x"});
  fake.AddVersion1("memory");
  fake.AddVersion2("cpu");
  const CgroupUsage usage = ReadUsage({fake / "memory/bucketvol/x", fake / "unified/bucketvol/x"});
  EXPECT_EQ(usage.memory_limit, 0u);
  EXPECT_EQ(usage.cpu_limit_milli, 0u);
  EXPECT_EQ(ReadUsage({"/nowhere"}).memory_used, 0u);
}

}  // namespace
}  // namespace bucketvol
