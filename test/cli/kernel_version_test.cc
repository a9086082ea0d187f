#include "mounter/cli/kernel_version.h"

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

TEST(KernelVersionTest, ReadsReleases) {
  EXPECT_TRUE(ParseKernelVersion("6.15.0-rc1").AtLeast(6, 15));
  EXPECT_FALSE(ParseKernelVersion("6.1.0-18-amd64").AtLeast(6, 2));
  EXPECT_TRUE(ParseKernelVersion("7.0-custom").AtLeast(6, 15));
  EXPECT_FALSE(ParseKernelVersion("5.19.17").AtLeast(6, 1));
}

TEST(KernelVersionTest, NonsenseIsTheOldestOfAll) {
  for (const char* release : {"", "six", "6", "x.y"})
    EXPECT_FALSE(ParseKernelVersion(release).AtLeast(0, 1)) << release;
}

TEST(KernelVersionTest, TheRunningKernelHasAVersion) { EXPECT_TRUE(RunningKernel().AtLeast(4, 0)); }

TEST(KernelVersionTest, WideBlockNumbersCameWith6Dot15) {
  EXPECT_FALSE(Has48BitErofs(ParseKernelVersion("6.14.9")));
  EXPECT_TRUE(Has48BitErofs(ParseKernelVersion("6.15.0")));
}

}  // namespace
}  // namespace bucketvol
