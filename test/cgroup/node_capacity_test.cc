#include "mounter/cgroup/node_capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr CgroupLimits kNode{4'000, uint64_t{8} << 30};

TEST(NodeCapacityTest, LimitsWithinTheNodeStay) {
  CgroupLimits limits = kNode;
  EXPECT_THAT(ClampToNode(kNode, limits), ElementsAre());
  EXPECT_EQ(limits, kNode);
}

TEST(NodeCapacityTest, WhatIsAboveTheNodeIsLoweredAndSaid) {
  CgroupLimits limits{16'000, uint64_t{32} << 30};
  EXPECT_THAT(ClampToNode(kNode, limits), ElementsAre(AllOf(HasSubstr("16"), HasSubstr("has 4")),
                                                      AllOf(HasSubstr("32.0 GiB"), HasSubstr("has 8.0"))));
  EXPECT_EQ(limits, kNode);
  limits = {1'000, uint64_t{9} << 30};
  EXPECT_THAT(ClampToNode(kNode, limits), ElementsAre(HasSubstr("memory")));
  EXPECT_EQ(limits, (CgroupLimits{1'000, uint64_t{8} << 30}));
}

TEST(NodeCapacityTest, ThisMachineHasSome) {
  EXPECT_GE(NodeCapacity().milli_cpus, 1'000u);
  EXPECT_GE(NodeCapacity().memory_bytes, uint64_t{64} << 20);
}

}  // namespace
}  // namespace bucketvol
