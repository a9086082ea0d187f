#include "mounter/index/lister_key_map.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bucketvol::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A map that has seen one page, and the stretch behind that.
class KeyMapTest : public ::testing::Test {
 protected:
  void Read(const std::vector<std::string>& keys) {
    std::vector<ListedObject> objects;
    for (const std::string& key : keys) objects.push_back({.key = key, .etag = ""});
    page_ = PageSpan("", objects);
    after_ = keys.back();
    map_.LearnPage({.stretch = {start_, end_, page_}, .objects = objects, .first = keys.front(), .pages = 1},
                   in_directory_, in_landmark_);
  }
  KeyStretch Stretch() const { return {after_, end_, page_, in_directory_, in_landmark_}; }

  KeyMap map_{""};
  const std::string start_;
  std::string after_;
  std::optional<std::string> end_;
  PageSpan page_;
  double in_directory_ = 0;
  double in_landmark_ = 0;
};

std::vector<std::string> Counters(absl::string_view stem, int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back(absl::StrCat(stem, absl::Dec(i, absl::kZeroPad9)));
  return keys;
}

TEST_F(KeyMapTest, PlausibleLengthIsSplitEvenly) {
  Read(Counters("n", 1000));
  end_ = "n000050999";
  EXPECT_NEAR(map_.Pages(Stretch()), 50, 0.5);
  EXPECT_THAT(map_.SplitPoints(Stretch(), 4, 10),
              ElementsAre("n0000109", "n0000209", "n0000309", "n0000409"));
}

TEST_F(KeyMapTest, UnknownLengthIsSplitAtEveryScale) {
  Read(Counters("n", 1000));
  const std::vector<std::string> points = map_.SplitPoints(Stretch(), 12, 16);
  ASSERT_THAT(points, SizeIs(12));
  EXPECT_LT(points.front(), "n000005");
  EXPECT_GT(points.back(), "n1");
  // Whatever the length, some point is near it.
  for (const char* length : {"n000010", "n000100", "n001000", "n010000", "n100000"}) {
    const auto next = std::lower_bound(points.begin(), points.end(), std::string(length));
    ASSERT_NE(next, points.end());
    EXPECT_LT(*next, absl::StrCat(std::string(length).substr(0, std::string(length).find('1')), "9"));
  }
}

TEST_F(KeyMapTest, DirectoriesSeenAreUsedAsPoints) {
  Read(Counters("accordion/image_", 1000));
  map_.AddLandmarks({"accordion/", "bonsai/", "camera/", "dolphin/"}, KeyMap::Landmarks::kDirectories);
  const std::vector<std::string> points = map_.SplitPoints(Stretch(), 12, 1);
  for (const char* directory : {"bonsai/", "camera/", "dolphin/"}) {
    EXPECT_NE(std::find(points.begin(), points.end(), directory), points.end()) << directory;
  }
}

TEST_F(KeyMapTest, EvenLandmarksForetellTheLength) {
  map_.AddLandmarks({"b", "c", "d", "e"}, KeyMap::Landmarks::kEven);
  Read(Counters("a", 1000));
  EXPECT_NEAR(map_.Pages(Stretch()), 4, 0.1);
  EXPECT_THAT(map_.SplitPoints(Stretch(), 4, 1), ElementsAre("c", "d", "e"));
}

TEST_F(KeyMapTest, HintsFarApartAreUsedBeforeThereIsAPage) {
  map_.AddLandmarks({"k", "t"}, KeyMap::Landmarks::kEven);
  map_.LearnDistance(1e6);
  EXPECT_GT(map_.Pages(Stretch()), 1e6);
  EXPECT_THAT(map_.SplitPoints(Stretch(), 8, 1e5), ElementsAre("k", "t"));
}

TEST_F(KeyMapTest, UnfitLandmarksAreLeftOut) {
  KeyMap map("p/");
  map.AddLandmarks({"a", "p/", "p/x", "p0", "p/\xff", std::string(3000, 'p')}, KeyMap::Landmarks::kEven);
  EXPECT_EQ(map.landmarks(), 1u);
}

// The map must not take a directory to be as long as its numbers allow when others were short.
TEST_F(KeyMapTest, DirectoryIsTakenToBeLikeTheOthers) {
  std::vector<std::string> keys;
  for (int i = 0; i < 10; ++i) {
    for (const std::string& key : Counters(absl::StrCat("d00", i, "/"), 100)) keys.push_back(key);
  }
  Read(keys);
  end_ = "d010/";
  EXPECT_LE(map_.Pages(Stretch()), 1.5);
}

TEST_F(KeyMapTest, NothingToSplitInNothing) {
  Read(Counters("n", 1000));
  end_ = "n000000999\x01";
  EXPECT_LT(map_.Pages(Stretch()), 0.01);
  EXPECT_THAT(map_.SplitPoints(Stretch(), 4, 1), IsEmpty());
}

}  // namespace
}  // namespace bucketvol::testing
