#include "mounter/index/lister_boundaries.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bucketvol::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Adds keys "1", "2", … "count", zero-padded, in batches of changing size.
void AddCounters(BoundarySampler& sampler, int count) {
  for (int begin = 1, batch = 1; begin <= count; begin += batch, batch = batch * 7 % 101 + 1) {
    std::vector<std::string> keys;
    for (int i = begin; i < begin + batch && i <= count; ++i)
      keys.push_back(absl::StrCat(absl::Dec(i, absl::kZeroPad6)));
    std::vector<ListedObject> objects;
    for (const std::string& key : keys) objects.push_back({.key = key, .etag = ""});
    sampler.Add(objects);
  }
}

TEST(BoundarySamplerTest, FewKeysHaveNoBoundary) {
  BoundarySampler sampler(4, 10);
  AddCounters(sampler, 9);
  EXPECT_THAT(sampler.boundaries(), IsEmpty());
}

TEST(BoundarySamplerTest, EveryNthKey) {
  BoundarySampler sampler(4, 10);
  AddCounters(sampler, 45);
  EXPECT_THAT(sampler.boundaries(), ElementsAre("000010", "000020", "000030", "000040"));
}

TEST(BoundarySamplerTest, DistancesDoubleWhenThereAreTooMany) {
  BoundarySampler sampler(4, 10);
  AddCounters(sampler, 99);
  EXPECT_THAT(sampler.boundaries(), ElementsAre("000020", "000040", "000060", "000080"));
}

TEST(BoundarySamplerTest, NumberIsBoundedForAnyLength) {
  for (int count = 1; count < 20'000; count += 997) {
    BoundarySampler sampler(16, 3);
    AddCounters(sampler, count);
    EXPECT_LE(sampler.boundaries().size(), 16u);
    EXPECT_GE(sampler.boundaries().size(), count < 51 ? 0u : 8u) << count;
  }
}

}  // namespace
}  // namespace bucketvol::testing
