#include "mounter/reader/prefetch_queue.h"

#include <map>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/object_registry.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kMiB = 1 << 20;

class PrefetchQueueTest : public ::testing::Test {
 protected:
  std::shared_ptr<CachedObject> Large(const std::string& key) {
    return registry_.Get({key, "E", 1024 * kMiB});
  }
  std::shared_ptr<CachedObject> Small(const std::string& key) { return registry_.Get({key, "E", 1000}); }
  /// Takes `count` items; how many bytes of each object.
  std::map<std::string, uint64_t> Take(int count) {
    std::map<std::string, uint64_t> taken;
    for (int i = 0; i < count; ++i) {
      const auto item = queue_.Take();
      if (item) taken[item->object->id().key] += item->range.size();
    }
    return taken;
  }
  std::vector<ByteRange> TakeAll() {
    std::vector<ByteRange> ranges;
    while (const auto item = queue_.Take()) ranges.push_back(item->range);
    return ranges;
  }

  ObjectRegistry registry_{{.block_bytes = 64 << 10, .fetch_bytes = 8 * kMiB, .streams = {}}};
  PrefetchQueue queue_{8 * kMiB};
};

TEST_F(PrefetchQueueTest, OneObjectComesInOrderAndInParts) {
  queue_.Add(Large("a"), {{0, 10 * kMiB}, {20 * kMiB, 21 * kMiB}});
  EXPECT_THAT(TakeAll(), ElementsAre(ByteRange{0, 8 * kMiB}, ByteRange{8 * kMiB, 10 * kMiB},
                                     ByteRange{20 * kMiB, 21 * kMiB}));
  EXPECT_TRUE(queue_.empty());
}

TEST_F(PrefetchQueueTest, WhatIsInItIsNotAddedAgain) {
  queue_.Add(Large("a"), {{0, 4 * kMiB}});
  queue_.Add(Large("a"), {{2 * kMiB, 6 * kMiB}});
  const auto small = Small("s");
  queue_.Add(small, {{0, 1000}});
  queue_.Add(small, {{0, 1000}});
  EXPECT_THAT(TakeAll(),
              ElementsAre(ByteRange{0, 1000}, ByteRange{0, 4 * kMiB}, ByteRange{4 * kMiB, 6 * kMiB}));
  queue_.Add(small, {{0, 1000}});
  EXPECT_THAT(TakeAll(), ElementsAre(ByteRange{0, 1000}));
}

TEST_F(PrefetchQueueTest, ObjectsTakeTurnsByBytes) {
  const auto many = Large("many parts");
  const auto big = Large("big parts");
  for (uint64_t i = 0; i < 64; ++i) queue_.Add(many, {{i * 2 * kMiB, i * 2 * kMiB + kMiB}});
  queue_.Add(big, {{0, 64 * kMiB}});
  const auto taken = Take(36);
  EXPECT_NEAR(static_cast<double>(taken.at("many parts")), static_cast<double>(taken.at("big parts")),
              8 * kMiB);
}

TEST_F(PrefetchQueueTest, WhoConsumesMoreGetsMore) {
  const auto fast = Large("fast");
  const auto slow = Large("slow");
  for (const auto& object : {fast, slow}) {
    for (uint64_t i = 0; i < 200; ++i) queue_.Add(object, {{i * 2 * kMiB, i * 2 * kMiB + kMiB}});
  }
  std::map<std::string, uint64_t> taken;
  for (int i = 0; i < 100; ++i) {
    fast->AddConsumed(2 * kMiB);
    for (const auto& [key, bytes] : Take(1)) taken[key] += bytes;
  }
  EXPECT_GT(taken["fast"], 2 * taken["slow"]);
  EXPECT_GT(taken["slow"], 0u);
}

TEST_F(PrefetchQueueTest, ManySmallObjectsAreOneOfTheFlows) {
  std::vector<std::shared_ptr<CachedObject>> files;
  for (int i = 0; i < 100; ++i) {
    files.push_back(registry_.Get({"file" + std::to_string(i), "E", kMiB}));
    queue_.Add(files.back(), {{0, kMiB}});
  }
  queue_.Add(Large("a"), {{0, 64 * kMiB}});
  uint64_t large = 0;
  for (int i = 0; i < 36; ++i) {
    const auto item = queue_.Take();
    if (!item->object->is_small()) large += item->range.size();
  }
  EXPECT_GE(large, 24 * kMiB);
}

TEST_F(PrefetchQueueTest, WhatIsDroppedDoesNotCome) {
  const auto object = Large("a");
  queue_.Add(object, {{0, 8 * kMiB}, {16 * kMiB, 20 * kMiB}});
  queue_.Drop(*object, {{2 * kMiB, 4 * kMiB}, {16 * kMiB, 32 * kMiB}});
  EXPECT_THAT(TakeAll(), ElementsAre(ByteRange{0, 2 * kMiB}, ByteRange{4 * kMiB, 8 * kMiB}));
  EXPECT_FALSE(object->queued());
}

TEST_F(PrefetchQueueTest, WhatIsPutBackComesNext) {
  queue_.Add(Large("a"), {{0, kMiB}, {kMiB, 2 * kMiB}});
  queue_.Add(Large("b"), {{0, kMiB}});
  auto item = queue_.Take();
  const ByteRange range = item->range;
  const std::string key = item->object->id().key;
  queue_.PutBack(*std::move(item));
  item = queue_.Take();
  EXPECT_EQ(item->range, range);
  EXPECT_EQ(item->object->id().key, key);
}

}  // namespace
}  // namespace bucketvol
