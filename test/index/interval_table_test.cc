#include "mounter/index/interval_table.h"

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

// A bucket of counters "n000000" … and a table that lists it.
class IntervalTableTest : public ::testing::Test {
 protected:
  static constexpr int kKeys = 100'000;

  static std::string Key(int number) { return absl::StrCat("n", absl::Dec(number, absl::kZeroPad6)); }

  // Answers an interval as a service would.
  void Answer(Interval& interval) {
    int begin = 0;
    while (begin < kKeys && Key(begin) <= interval.after) ++begin;
    std::vector<std::string> keys;
    for (int i = begin; i < std::min(begin + 1000, kKeys); ++i) keys.push_back(Key(i));
    std::vector<ListedObject> objects;
    size_t kept = 0;
    for (const std::string& key : keys) {
      objects.push_back({.key = key, .etag = ""});
      if (!interval.end || key <= *interval.end) ++kept;
    }
    interval.state = Interval::State::kReading;
    table_.TakePage(interval, {.kept = absl::MakeSpan(objects).first(kept),
                               .first = keys.empty() ? "" : keys.front(),
                               .received = keys.size(),
                               .truncated = begin + 1000 < kKeys});
  }

  std::vector<Interval*> Plan(int idle, int limit) { return table_.Plan(idle, limit, absl::ZeroDuration()); }

  IntervalTable table_{{}};
};

TEST_F(IntervalTableTest, BeginsWithOneInterval) {
  const std::vector<Interval*> chosen = Plan(16, 16);
  ASSERT_THAT(chosen, SizeIs(1));
  EXPECT_EQ(chosen[0]->after, "");
  EXPECT_THAT(Plan(15, 16), IsEmpty());
}

TEST_F(IntervalTableTest, FirstPageLetsAllStreamsIn) {
  Answer(*Plan(16, 16)[0]);
  const std::vector<Interval*> chosen = Plan(16, 16);
  EXPECT_THAT(chosen, SizeIs(16));
  for (size_t i = 1; i < chosen.size(); ++i) {
    EXPECT_GT(chosen[i]->after, chosen[i - 1]->after);
    EXPECT_EQ(chosen[i - 1]->end, chosen[i]->after);
  }
  EXPECT_EQ(chosen.back()->end, std::nullopt);
}

TEST_F(IntervalTableTest, IntervalBeingReadIsNotSplit) {
  Answer(*Plan(1, 1)[0]);
  Interval* interval = Plan(1, 1)[0];
  interval->state = Interval::State::kReading;
  EXPECT_THAT(Plan(16, 16), IsEmpty());
}

TEST_F(IntervalTableTest, EveryKeyIsInOneIntervalUntilTheEnd) {
  std::vector<Interval*> asked = Plan(16, 16);
  int requests = 0;
  uint64_t keys = 0;
  while (!asked.empty()) {
    ++requests;
    const uint64_t before = asked.front()->keys;
    Interval* interval = asked.front();
    asked.erase(asked.begin());
    Answer(*interval);
    keys += interval->keys - before;
    const std::vector<Interval*> more = Plan(16 - static_cast<int>(asked.size()), 16);
    asked.insert(asked.end(), more.begin(), more.end());
  }
  EXPECT_TRUE(table_.finished());
  EXPECT_EQ(keys, static_cast<uint64_t>(kKeys));
  EXPECT_LE(requests, 105 + 2 * 16);
}

TEST_F(IntervalTableTest, LeftIsServedBeforeRight) {
  Answer(*Plan(1, 1)[0]);
  std::vector<Interval*> chosen = Plan(8, 8);
  for (Interval* interval : chosen) Answer(*interval);
  const std::vector<Interval*> next = Plan(2, 2);
  ASSERT_THAT(next, SizeIs(2));
  EXPECT_EQ(next[0], &table_.front());
}

TEST_F(IntervalTableTest, RefusedPointIsGivenBackToTheLeft) {
  Answer(*Plan(1, 1)[0]);
  const std::vector<Interval*> chosen = Plan(2, 2);
  ASSERT_THAT(chosen, SizeIs(2));
  chosen[1]->state = Interval::State::kReading;
  EXPECT_TRUE(table_.Retract(*chosen[1]));
  EXPECT_EQ(chosen[0]->end, std::nullopt);
  Answer(*chosen[0]);
  EXPECT_THAT(Plan(16, 16), ElementsAre(chosen[0]));  // It is never tried again.
}

TEST_F(IntervalTableTest, RefusedPointBehindAFinishedIntervalBeginsAtItsLastKey) {
  Answer(*Plan(1, 1)[0]);
  const std::vector<Interval*> chosen = Plan(2, 2);
  ASSERT_THAT(chosen, SizeIs(2));
  while (chosen[0]->state != Interval::State::kDone) Answer(*chosen[0]);
  const std::string last = chosen[0]->after;
  table_.PopFront();
  chosen[1]->state = Interval::State::kReading;
  EXPECT_TRUE(table_.Retract(*chosen[1]));
  EXPECT_EQ(chosen[1]->after, last);
  EXPECT_THAT(Plan(16, 16), ElementsAre(chosen[1]));
}

TEST_F(IntervalTableTest, KeysBehindAreKnown) {
  Answer(*Plan(1, 1)[0]);
  const std::vector<Interval*> chosen = Plan(2, 2);
  EXPECT_FALSE(table_.HasKeysBehind(*chosen[0]));
  EXPECT_FALSE(table_.HasKeysBehind(*chosen[1]));
  Answer(*chosen[1]);
  EXPECT_EQ(table_.HasKeysBehind(*chosen[0]), chosen[1]->keys > 0);
}

}  // namespace
}  // namespace bucketvol::testing
