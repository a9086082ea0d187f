#include <cstdio>
#include <string>

#include "mounter/index/lister.h"
#include "test/index/lister_shapes.h"
#include "test/support/fake_object_store.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"
#include "test/support/virtual_time.h"

namespace bucketvol::testing {
namespace {

// Checks that it gets exactly the keys of a sequence.
class ComparingSink final : public ListingSink {
 public:
  explicit ComparingSink(const KeySequence& expected) : expected_(expected) {}
  absl::Status Add(absl::Span<const ListedObject> objects) override {
    for (const ListedObject& object : objects) {
      if (count_ >= expected_.size()) return absl::InternalError("too many keys");
      expected_.KeyAt(count_++, key_);
      if (object.key != key_)
        return absl::InternalError("wrong key: " + std::string(object.key) + " for " + key_);
    }
    return absl::OkStatus();
  }
  uint64_t count() const { return count_; }

 private:
  const KeySequence& expected_;
  uint64_t count_ = 0;
  std::string key_;
};

struct Case {
  KeyShape shape;
  uint64_t keys;
  double seconds;  // Bar, with 100 ms per page.
};

class ListerPaceTest : public ::testing::TestWithParam<Case> {};

TEST_P(ListerPaceTest, StaysWithinRequestsAndTime) {
  const auto [shape, keys, seconds] = GetParam();
  const auto sequence = MakeShape(shape, keys);
  VirtualTime time;
  FakeObjectStore store(time);
  store.SetSequence(sequence);
  store.ForgetRequests();
  store.SetLatency([](const FakeRequest&) { return absl::Milliseconds(100); });
  ComparingSink sink(*sequence);
  const TempDir directory;
  Lister lister(store, time, time, {.spill_directory = directory.path()});
  time.RunInBackground();
  ASSERT_OK(lister.Run(sink, nullptr));
  const double took = absl::ToDoubleSeconds(time.Elapsed());
  const double pages = static_cast<double>((keys + 999) / 1000);
  const double requests = static_cast<double>(lister.progress().requests);
  const double bar = 1.05 * pages + 2 * lister.progress().streams_peak;
  std::printf("%-12s %9lu keys: %6.0f requests (bar %6.0f, lost %5.1f %%), %3u streams, %5.1f s\n",
              ::testing::PrintToString(shape).c_str(), keys, requests, bar, 100 * (requests - pages) / pages,
              lister.progress().streams_peak.load(), took);
  EXPECT_EQ(sink.count(), keys);
  EXPECT_LE(requests, bar);
  EXPECT_LE(took, seconds);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ListerPaceTest, ::testing::ValuesIn([] {
      std::vector<Case> cases;
      for (int shape = 0; shape <= static_cast<int>(KeyShape::kDates); ++shape) {
        for (const auto& [keys, seconds] :
             {std::pair(1, 0.1), std::pair(1'000, 0.2), std::pair(10'000, 0.8), std::pair(100'000, 1.3),
              std::pair(1'000'000, 2.5), std::pair(10'000'000, 12.5)}) {
          // Where directories nest deeply, a name tells little of how much lies behind it: twice the time.
          const bool hard = static_cast<KeyShape>(shape) == KeyShape::kDeep && keys == 10'000'000;
          cases.push_back({static_cast<KeyShape>(shape), static_cast<uint64_t>(keys), hard ? 25 : seconds});
        }
      }
      return cases;
    }()));

}  // namespace
}  // namespace bucketvol::testing
