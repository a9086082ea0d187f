#include <sanitizer/asan_interface.h>

#include <cstring>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "mounter/cache/block_buffer.h"
#include "mounter/cache/slab_source.h"
#include "mounter/cache/unit_arena.h"
#include "test/support/fake_clock.h"

namespace bucketvol {
namespace {

constexpr size_t kUnit = 64 << 10;
constexpr size_t kSlab = SlabSource::kSlabBytes;

class SlabTest : public ::testing::Test {
 protected:
  testing::FakeClock clock_;
  SlabSource source_{clock_, absl::Seconds(10)};
  UnitArena arena_{source_, kUnit};
};

TEST_F(SlabTest, UnitsOfASlabAreDisjoint) {
  std::vector<UnitArena::Unit> units;
  std::set<char*> places;
  for (size_t i = 0; i < 3 * kSlab / kUnit; ++i) {
    units.push_back(arena_.Get());
    std::memset(units.back().data(), static_cast<int>(i), kUnit);
    places.insert(units.back().data());
  }
  EXPECT_EQ(places.size(), units.size());
  EXPECT_EQ(source_.bytes(), 3 * kSlab);
  for (size_t i = 0; i < units.size(); ++i) {
    EXPECT_EQ(units[i].data()[0], static_cast<char>(i));
    EXPECT_EQ(units[i].data()[kUnit - 1], static_cast<char>(i));
  }
}

TEST_F(SlabTest, AUnitIsUsedAgain) {
  char* const where = arena_.Get().data();
  EXPECT_EQ(arena_.Get().data(), where);
  EXPECT_EQ(source_.bytes(), kSlab);
}

TEST_F(SlabTest, AnEmptySlabServesUnitsOfAnotherSize) {
  UnitArena small(source_, kUnit / 4);
  { const UnitArena::Unit unit = arena_.Get(); }
  const UnitArena::Unit unit = small.Get();
  EXPECT_EQ(source_.bytes(), kSlab);
}

TEST_F(SlabTest, AnIdleSlabGoesBackToTheKernelAfterAWhile) {
  UnitArena::Unit used = arena_.Get();
  std::vector<UnitArena::Unit> others;
  for (size_t i = 0; i < kSlab / kUnit; ++i) others.push_back(arena_.Get());
  EXPECT_EQ(source_.bytes(), 2 * kSlab);
  others.clear();
  clock_.Advance(absl::Seconds(9));
  source_.ReleaseIdle();
  EXPECT_EQ(source_.bytes(), 2 * kSlab);
  clock_.Advance(absl::Seconds(1));
  source_.ReleaseIdle();
  EXPECT_EQ(source_.bytes(), kSlab);
  std::memset(used.data(), 1, kUnit);
}

#ifdef __SANITIZE_ADDRESS__
TEST_F(SlabTest, NobodyTouchesAUnitThatWasGivenBack) {
  UnitArena::Unit other = arena_.Get();
  char* const where = arena_.Get().data();
  EXPECT_TRUE(__asan_address_is_poisoned(where));
  EXPECT_TRUE(__asan_address_is_poisoned(where + kUnit - 1));
  EXPECT_FALSE(__asan_address_is_poisoned(other.data() + kUnit - 1));
  const UnitArena::Unit again = arena_.Get();
  EXPECT_EQ(again.data(), where);
  EXPECT_FALSE(__asan_address_is_poisoned(where));
}

TEST_F(SlabTest, NobodyTouchesASlabThatWasGivenBack) {
  char* const where = arena_.Get().data();
  EXPECT_EQ(source_.busy_bytes(), 0);
  EXPECT_TRUE(__asan_address_is_poisoned(where));
  source_.ReleaseUnused();
  EXPECT_FALSE(__asan_address_is_poisoned(where)) << "something else may be mapped there";
}
#endif

TEST_F(SlabTest, SurvivesThreads) {
  const auto churn = [this](char mark) {
    std::vector<UnitArena::Unit> held;
    for (int i = 0; i < 20'000; ++i) {
      held.push_back(arena_.Get());
      held.back().data()[7] = mark;
      if (held.size() < 100) continue;
      for (const UnitArena::Unit& unit : held) ASSERT_EQ(unit.data()[7], mark);
      held.clear();
    }
  };
  std::thread other(churn, 'a');
  churn('b');
  other.join();
  clock_.Advance(absl::Seconds(10));
  source_.ReleaseIdle();
  EXPECT_EQ(source_.bytes(), 0u);
}

TEST_F(SlabTest, ABlockKnowsItsBytesAgain) {
  BlockBuffer block(arena_.Get(), Reservation());
  const std::string data(1'000, 'a');
  for (size_t filled = 0; filled < 50'000; filled += data.size()) block.Append(data);
  EXPECT_EQ(block.filled(), 50'000u);
  EXPECT_TRUE(block.Verify());
  const_cast<char&>(block.bytes({0, 50'000})[49'999]) = 'b';
  EXPECT_FALSE(block.Verify());
}

}  // namespace
}  // namespace bucketvol
