#include "mounter/session/request_slots.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/session/test_slots.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeSlots;

UniqueFd Duplicate(const UniqueFd& fd) { return UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

void Put(RequestSlots& slots, uint32_t index, SlotState state, uint64_t unique) {
  fuse_in_header header{};
  header.len = unique == 0 ? 0 : sizeof header;
  header.unique = unique;
  std::memcpy(slots.request(index), &header, sizeof header);
  slots.slot(index).state = static_cast<uint32_t>(state);
}

TEST(RequestSlotsTest, AnotherMappingSeesWhatIsThere) {
  RequestSlots made = MakeSlots();
  Put(made, 3, SlotState::kBusy, 8);
  Put(made, 1, SlotState::kBusy, 12);
  Put(made, 2, SlotState::kArmed, 10);
  Put(made, 4, SlotState::kArmed, 0);
  Put(made, 5, SlotState::kFree, 14);
  std::string why;
  const auto mapped = RequestSlots::Map(Duplicate(made.memory()), why);
  ASSERT_TRUE(mapped) << why;
  EXPECT_EQ(mapped->count(), made.count());
  EXPECT_THAT(mapped->Taken(), ElementsAre(3, 2, 1));
}

TEST(RequestSlotsTest, ThePlaceOfARequestHandedOutAgainIsThatOfItsFirstNumber) {
  RequestSlots slots = MakeSlots();
  Put(slots, 0, SlotState::kBusy, 12);
  Put(slots, 1, SlotState::kBusy, 10 | kResentBit);
  EXPECT_THAT(slots.Taken(), ElementsAre(1, 0));
}

TEST(RequestSlotsTest, HasRoomForWhatALayoutAsks) {
  const RequestSlots slots = MakeSlots({.slots = 3, .result_bytes = 1, .request_bytes = 1 << 20});
  EXPECT_EQ(slots.count(), 3u);
  EXPECT_GE(slots.header().result_bytes, 1u);
  EXPECT_GE(slots.request_bytes(), 1u << 20);
  std::memset(slots.request(2), 'x', slots.request_bytes());
}

TEST(RequestSlotsTest, NobodyChangesTheSize) {
  const RequestSlots slots = MakeSlots();
  EXPECT_NE(ftruncate(slots.memory().get(), 0), 0);
  EXPECT_NE(ftruncate(slots.memory().get(), 1 << 30), 0);
}

TEST(RequestSlotsTest, RefusesMemoryThatCouldShrink) {
  UniqueFd memory(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(memory.get(), 1 << 20), 0);
  std::string why;
  EXPECT_FALSE(RequestSlots::Map(std::move(memory), why));
  EXPECT_THAT(why, HasSubstr("none of ours"));
}

TEST(RequestSlotsTest, RefusesAnotherVersion) {
  RequestSlots slots = MakeSlots();
  slots.header().version = SlotsHeader::kVersion + 1;
  std::string why;
  EXPECT_FALSE(RequestSlots::Map(Duplicate(slots.memory()), why));
  EXPECT_THAT(why, HasSubstr("version 2"));
}

TEST(RequestSlotsTest, GrownHeaderAndSlotsOfANewerGuardAreUsable) {
  RequestSlots slots = MakeSlots({.slots = 64});
  slots.header().header_bytes += 64;
  slots.header().slot_bytes += 64;
  slots.header().result_at += 64;
  slots.header().request_at += 64;
  slots.header().slots = 32;
  std::string why;
  const auto mapped = RequestSlots::Map(Duplicate(slots.memory()), why);
  ASSERT_TRUE(mapped) << why;
  EXPECT_EQ(mapped->count(), 32u);
}

TEST(RequestSlotsTest, RefusesPlacesOutsideOfTheMemory) {
  const auto refused = [](void (*damage)(SlotsHeader&)) {
    RequestSlots slots = MakeSlots();
    damage(slots.header());
    std::string why;
    return !RequestSlots::Map(Duplicate(slots.memory()), why);
  };
  EXPECT_TRUE(refused([](SlotsHeader& header) { header.slots += 1; }));
  EXPECT_TRUE(refused([](SlotsHeader& header) { header.slots = 0; }));
  EXPECT_TRUE(refused([](SlotsHeader& header) { header.header_bytes = 1u << 30; }));
  EXPECT_TRUE(refused([](SlotsHeader& header) { header.slot_bytes = 0; }));
  EXPECT_TRUE(refused([](SlotsHeader& header) { header.slot_bytes *= 2; }));
  EXPECT_TRUE(refused([](SlotsHeader& header) { header.request_at = 0; }));
  EXPECT_TRUE(refused([](SlotsHeader& header) { header.request_at = header.slot_bytes; }));
  EXPECT_TRUE(refused([](SlotsHeader& header) { header.request_bytes += 64; }));
}

}  // namespace
}  // namespace bucketvol
