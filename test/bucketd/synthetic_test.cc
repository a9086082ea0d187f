#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/bucketd/content.h"
#include "test/bucketd/key_formula.h"
#include "test/bucketd/synthetic_bucket.h"
#include "test/bucketd/synthetic_spec.h"
#include "test/support/status_matchers.h"

namespace bucketvol::bucketd {
namespace {

using ::bucketvol::testing::StatusIs;
using ::testing::HasSubstr;

SyntheticSpec Spec(const std::string& words) { return ParseSyntheticSpec("b:" + words).value(); }

std::vector<std::string> AllKeys(const KeyFormula& formula) {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < formula.size(); ++i) keys.push_back(formula.At(i));
  return keys;
}

class ShapeTest : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(
    Shapes, ShapeTest,
    ::testing::Values("keys=1000,per-dir=7,shape=even", "keys=1000,shape=flat",
                      "keys=1000,per-dir=7,shape=skewed", "keys=1000,per-dir=1,shape=deep",
                      "keys=1000,per-dir=3,shape=deep,name-bytes=5", "keys=1,shape=even",
                      "keys=19,shape=skewed", "keys=0,shape=deep", "keys=999,name-bytes=250",
                      "keys=300,per-dir=10,name-bytes=3,shape=even", "keys=1000,name-bytes=15"));

TEST_P(ShapeTest, KeysIncreaseStrictly) {
  const KeyFormula formula(Spec(GetParam()));
  const std::vector<std::string> keys = AllKeys(formula);
  for (size_t i = 1; i < keys.size(); ++i) ASSERT_LT(keys[i - 1], keys[i]);
}

TEST_P(ShapeTest, NamesHaveTheirLength) {
  const SyntheticSpec spec = Spec(GetParam());
  for (const std::string& key : AllKeys(KeyFormula(spec))) {
    ASSERT_EQ(key.size() - (key.rfind('/') + 1), spec.name_bytes) << key;
  }
}

TEST_P(ShapeTest, BisectionEqualsBruteForce) {
  const KeyFormula formula(Spec(GetParam()));
  const std::vector<std::string> keys = AllKeys(formula);
  std::vector<std::string> points = {"", "\x01", "d", "data/", "data0", "i", "zzz", std::string(1, '\xff')};
  for (size_t i = 0; i < keys.size(); i += 13) {
    for (const char* end : {"", "\x01", "~"}) points.push_back(keys[i] + end);
    points.push_back(keys[i].substr(0, keys[i].size() / 2));
    points.push_back(keys[i].substr(0, keys[i].size() - 1));
  }
  for (const std::string& point : points) {
    ASSERT_EQ(formula.FirstAtOrAfter(point), std::lower_bound(keys.begin(), keys.end(), point) - keys.begin())
        << point;
    ASSERT_EQ(formula.FirstAfter(point), std::upper_bound(keys.begin(), keys.end(), point) - keys.begin())
        << point;
  }
}

// Directories of the shape, by number of slashes.
std::multiset<size_t> Depths(const std::vector<std::string>& keys) {
  std::multiset<size_t> depths;
  for (const std::string& key : keys)
    depths.insert(static_cast<size_t>(std::count(key.begin(), key.end(), '/')));
  return depths;
}

TEST(ShapesTest, SkewedHoldsNineteenTwentiethsInOneDirectory) {
  const std::vector<std::string> keys = AllKeys(KeyFormula(Spec("keys=2000,per-dir=10,shape=skewed")));
  const auto big =
      std::count_if(keys.begin(), keys.end(), [](const std::string& k) { return k.rfind("data/", 0) == 0; });
  EXPECT_EQ(big, 1900);
  EXPECT_NE(keys.front().rfind("data/", 0), 0u);
  EXPECT_NE(keys.back().rfind("data/", 0), 0u);
}

TEST(ShapesTest, DeepReachesEightLevels) {
  const std::multiset<size_t> depths = Depths(AllKeys(KeyFormula(Spec("keys=5000,per-dir=10,shape=deep"))));
  EXPECT_EQ(*depths.rbegin(), 8u);
  EXPECT_GT(std::set<size_t>(depths.begin(), depths.end()).size(), 5u);
}

TEST(ShapesTest, FlatHasNoDirectory) {
  EXPECT_EQ(*Depths(AllKeys(KeyFormula(Spec("keys=100,shape=flat")))).rbegin(), 0u);
}

TEST(ShapesTest, EvenFillsItsDirectories) {
  const std::vector<std::string> keys = AllKeys(KeyFormula(Spec("keys=25,per-dir=10")));
  EXPECT_EQ(keys[9].substr(0, 6), "d0000/");
  EXPECT_EQ(keys[10].substr(0, 6), "d0001/");
  EXPECT_EQ(keys[24].substr(0, 6), "d0002/");
}

TEST(ShapesTest, HundredMillionKeysAreReachedAtOnce) {
  const KeyFormula formula(Spec("keys=100000000,shape=flat"));
  EXPECT_EQ(formula.FirstAtOrAfter(formula.At(99'999'999)), 99'999'999u);
  EXPECT_EQ(formula.FirstAfter(formula.At(99'999'999)), 100'000'000u);
}

// The bytes and names that other programs rely on: a change of the formulas must show here.
TEST(SyntheticGoldenTest, NamesAndBytesStay) {
  const SyntheticSpec spec = Spec("keys=10000000,per-dir=1000,name-bytes=40,seed=1");
  const KeyFormula formula(spec);
  EXPECT_EQ(formula.At(5), "d0000/imagenet-train-sam_00000005_578069ae.jpg");
  const SyntheticObject object = DescribeSynthetic(spec, formula.At(5));
  EXPECT_EQ(std::string(object.etag, 32), "a2e0765245708396b6567018041f115d");
  char bytes[16];
  FillContent(object.seed, 5, bytes, sizeof(bytes));
  EXPECT_EQ(std::string(bytes, 16),
            std::string("\xd2\xba\x47\x33\x74\xbf\xda\x18\x36\xc3\x35\x1a\x0e\xec\xbf\xd9", 16));
}

TEST(ContentTest, AnyRangeIsPartOfTheWhole) {
  std::string whole(1000, '\0');
  FillContent(42, 0, whole.data(), whole.size());
  for (size_t offset = 0; offset < 150; ++offset) {
    for (const size_t size : {0, 1, 2, 7, 8, 9, 63, 64, 65, 200}) {
      std::string part(size, '\0');
      FillContent(42, offset, part.data(), size);
      ASSERT_EQ(part, whole.substr(offset, size)) << offset << " " << size;
    }
  }
}

TEST(ContentTest, VectorsOfEveryWidthAgree) {
  for (size_t words = 0; words < 40; ++words) {
    std::vector<uint64_t> narrow(words), wide(words), one_by_one(words);
    for (size_t i = 0; i < words; ++i) one_by_one[i] = content_internal::WordAt(42, 3 + i);
    content_internal::FillVectors<content_internal::TwoWords>(42, 3, reinterpret_cast<char*>(narrow.data()),
                                                              words);
    content_internal::FillVectors<content_internal::FourWords>(42, 3, reinterpret_cast<char*>(wide.data()),
                                                               words);
    EXPECT_EQ(narrow, one_by_one) << words;
    EXPECT_EQ(wide, one_by_one) << words;
  }
}

TEST(ContentTest, OtherObjectsAndBlocksDiffer) {
  std::set<std::string> blocks;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (uint64_t offset = 0; offset < 1 << 20; offset += 4096) {
      std::string block(4096, '\0');
      FillContent(ObjectSeed(1, std::to_string(seed)), offset, block.data(), block.size());
      blocks.insert(block);
    }
  }
  EXPECT_EQ(blocks.size(), 10u * 256);
}

TEST(ContentTest, ObjectSeedDependsOnEveryByte) {
  std::set<uint64_t> seeds = {ObjectSeed(1, "abcdefghijkl"), ObjectSeed(2, "abcdefghijkl"),
                              ObjectSeed(1, "abcdefghijk"), ObjectSeed(1, "abcdefghijklm"),
                              ObjectSeed(1, absl::string_view("abcdefghijkl\0", 13))};
  for (size_t i = 0; i < 12; ++i) {
    std::string key = "abcdefghijkl";
    key[i] = 'X';
    seeds.insert(ObjectSeed(1, key));
  }
  EXPECT_EQ(seeds.size(), 17u);
}

TEST(SyntheticSpecTest, ReadsEveryWord) {
  const SyntheticSpec spec =
      ParseSyntheticSpec("NAME:keys=12,per-dir=3,size=20KB..1MiB,name-bytes=20,shape=deep,seed=9,crc=on")
          .value();
  EXPECT_EQ(spec.name, "NAME");
  EXPECT_EQ(spec.keys, 12u);
  EXPECT_EQ(spec.per_dir, 3u);
  EXPECT_EQ(spec.min_size, 20'000u);
  EXPECT_EQ(spec.max_size, 1'048'576u);
  EXPECT_EQ(spec.name_bytes, 20u);
  EXPECT_EQ(spec.shape, Shape::kDeep);
  EXPECT_EQ(spec.seed, 9u);
  EXPECT_TRUE(spec.crc);
}

TEST(SyntheticSpecTest, SaysWhatIsWrong) {
  const auto error = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(ParseSyntheticSpec(":keys=1"), StatusIs(error, HasSubstr("no bucket name")));
  EXPECT_THAT(ParseSyntheticSpec("b:keys=x"), StatusIs(error, HasSubstr("not a number: x")));
  EXPECT_THAT(ParseSyntheticSpec("b:shape=round"), StatusIs(error, HasSubstr("even, flat, skewed or deep")));
  EXPECT_THAT(ParseSyntheticSpec("b:colour=red"), StatusIs(error, HasSubstr("unknown word")));
  EXPECT_THAT(ParseSyntheticSpec("b:per-dir=0"), StatusIs(error, HasSubstr("at least 1")));
  EXPECT_THAT(ParseSyntheticSpec("b:size=2KB..1KB"), StatusIs(error, HasSubstr("empty")));
  EXPECT_THAT(ParseSyntheticSpec("b:keys=1000,name-bytes=2,shape=flat"),
              StatusIs(error, HasSubstr("at least 4")));
}

TEST(SyntheticObjectTest, SizesSpreadOverTheRange) {
  const SyntheticSpec spec = Spec("keys=2000,size=10B..13B");
  const KeyFormula formula(spec);
  std::set<uint64_t> sizes;
  for (uint64_t i = 0; i < 200; ++i) sizes.insert(DescribeSynthetic(spec, formula.At(i)).size);
  EXPECT_EQ(sizes, (std::set<uint64_t>{10, 11, 12, 13}));
}

TEST(SyntheticBucketTest, KnowsItsKeysOnly) {
  SyntheticBucket bucket(Spec("keys=100,per-dir=10"));
  const std::string key = KeyFormula(Spec("keys=100,per-dir=10")).At(57);
  EXPECT_TRUE(bucket.Open(key).ok());
  for (const std::string& other : {key + "x", key.substr(1), std::string("d0000/"), std::string()}) {
    const Outcome<OpenObject> object = bucket.Open(other);
    ASSERT_FALSE(object.ok()) << other;
    EXPECT_EQ(object.error().kind, ErrorKind::kNoSuchKey);
  }
}

}  // namespace
}  // namespace bucketvol::bucketd
