#include "mounter/index/address_space.h"

#include <map>

#include "gtest/gtest.h"
#include "test/support/status_matchers.h"

namespace bucketvol::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kTib = uint64_t{1} << 40;
constexpr uint64_t kFlatEnd = uint64_t{1} << 32;
constexpr uint64_t kEdge = AddressSpace::kEdgeBlocks;

std::map<uint32_t, int> Deal(AddressSpace& space, int objects, uint64_t bytes) {
  std::map<uint32_t, int> counts;
  for (int i = 0; i < objects; ++i) {
    const auto at = space.Place(bytes);
    EXPECT_OK(at);
    if (!at.ok()) break;
    ++counts[at->device];
  }
  return counts;
}

TEST(AddressSpaceTest, ASmallBucketHasOneDevice) {
  AddressSpace space(false);
  Deal(space, 1024, 100'000);
  ASSERT_EQ(space.devices().size(), 1u);
  EXPECT_EQ(space.devices()[0].first_block, kTib / kIndexBlockBytes);
  EXPECT_EQ(space.devices()[0].blocks, 1024 * 25 + 2 * kEdge);
}

TEST(AddressSpaceTest, SmallObjectsAreDealtInTurn) {
  AddressSpace space(false);
  Deal(space, 1024, 100'000);
  const auto counts = Deal(space, 12'000, 100'000);
  ASSERT_EQ(counts.size(), 12u);
  for (const auto& [device, count] : counts) EXPECT_EQ(count, 1000) << device;
}

TEST(AddressSpaceTest, LargeObjectsGoWhereLeastLies) {
  AddressSpace space(false);
  ASSERT_OK(space.Place(100ull << 30));  // Ends the time of the single device.
  EXPECT_EQ(Deal(space, 11, 50ull << 30).count(0), 0u);
  EXPECT_EQ(Deal(space, 11, 50ull << 30).count(0), 0u);
  EXPECT_EQ(Deal(space, 1, 50ull << 30).count(0), 1u);
}

TEST(AddressSpaceTest, ObjectsStayWithinTheirDeviceAndItsEdges) {
  AddressSpace space(false);
  std::map<uint32_t, uint64_t> end;
  for (int i = 0; i < 3000; ++i) {
    const uint64_t bytes = 1 + (uint64_t{1} << (i % 37));
    ASSERT_OK_AND_ASSIGN(const Placement at, space.Place(bytes));
    EXPECT_GE(at.block, std::max(end[at.device], kEdge));
    end[at.device] = at.block + AddressSpace::BlocksOf(bytes);
  }
  uint64_t flat_end = AddressSpace::kMetaBlocks;
  for (size_t i = 0; i < space.devices().size(); ++i) {
    const DataDevice device = space.devices()[i];
    EXPECT_EQ(device.blocks, end[i] + kEdge);
    EXPECT_GE(device.first_block, flat_end);
    flat_end = device.first_block + device.blocks;
  }
}

TEST(AddressSpaceTest, FlatExtentsStartBelowSixteenTebibytes) {
  AddressSpace space(false);
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK_AND_ASSIGN(const Placement at, space.Place(kTib / 5));
    if (!space.is_far(at.device)) {
      EXPECT_LT(space.FlatBlock(at), kFlatEnd - 1);
    }
  }
  for (const DataDevice& device : space.devices()) EXPECT_LT(device.blocks, kFlatEnd);
  EXPECT_FALSE(space.needs_48bit());
}

TEST(AddressSpaceTest, TheFlatSpaceIsUsedUpBeforeFarDevices) {
  AddressSpace space(false);
  uint64_t flat = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    ASSERT_OK_AND_ASSIGN(const Placement at, space.Place(100ull << 20));
    if (space.is_far(at.device)) break;
    flat += 100ull << 20;
  }
  EXPECT_GT(flat, 14 * kTib);
}

TEST(AddressSpaceTest, WithoutLargeNumbersTheEndIsAClearError) {
  AddressSpace space(false);
  absl::Status status;
  uint64_t placed = 0;
  for (; status.ok() && placed < 500; placed += status.ok()) status = space.Place(kTib).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("6.15")));
  EXPECT_GT(placed, 120u);
  EXPECT_LE(space.devices().size(), 23u);
}

TEST(AddressSpaceTest, WhenNoDeviceCanBeAddedTheOthersAreFilled) {
  AddressSpace space(false);
  while (space.Place(5 * kTib).ok()) {
  }
  EXPECT_OK(space.Place(kTib / 4));
  EXPECT_OK(space.Place(1));
}

TEST(AddressSpaceTest, WithLargeNumbersThereIsRoomForPebibytes) {
  AddressSpace space(true);
  Deal(space, 5000, 2 * kTib);
  EXPECT_TRUE(space.needs_48bit());
  EXPECT_LE(space.devices().size(), 23u);
}

TEST(AddressSpaceTest, OneObjectBeyondSixteenTebibytesNeedsLargeNumbers) {
  AddressSpace narrow(false);
  EXPECT_THAT(narrow.Place(48'800'000'000'000), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("6.15")));
  EXPECT_OK(narrow.Place(1)) << "a refusal changes nothing";
  AddressSpace wide(true);
  ASSERT_OK(wide.Place(48'800'000'000'000));
  EXPECT_TRUE(wide.needs_48bit());
}

TEST(AddressSpaceTest, AbsurdSizesAreRefused) {
  AddressSpace space(true);
  EXPECT_THAT(space.Place(uint64_t{1} << 62), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("1 PiB")));
  EXPECT_THAT(space.Place(UINT64_MAX), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("1 PiB")));
}

}  // namespace
}  // namespace bucketvol::testing
