#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mounter/base/crc.h"
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

using Latency = std::function<absl::Duration(const FakeRequest&)>;

absl::Duration Steady(const FakeRequest&) { return absl::Milliseconds(100); }

// Pages that take 50 to 150 ms, and one in a hundred a second, as chance has it: the same chance in every
// run.
absl::Duration Unsteady(const FakeRequest& request) {
  const uint64_t chance = Crc64(0, request.list.start_after) * 0x9e3779b97f4a7c15u >> 32;
  return chance % 100 == 0 ? absl::Seconds(1) : absl::Milliseconds(50 + chance / 100 % 101);
}

struct Listing {
  double seconds = 0;      // Simulated.
  double busy_after = -1;  // Seconds until 100 requests were in flight at once; negative: never.
  double requests = 0;
  uint32_t streams = 0;
  std::vector<std::string> boundaries;
  uint64_t distance = 0;
};

// Lists everything, and checks what comes and that not too many requests are made for it.
void ListAll(const std::shared_ptr<const KeySequence>& keys, const Latency& latency, ListerSettings settings,
             Listing& listing) {
  VirtualTime time;
  FakeObjectStore store(time);
  store.SetSequence(keys);
  store.ForgetRequests();
  store.SetLatency([&](const FakeRequest& request) {
    if (listing.busy_after < 0 && store.in_flight() >= 100) {
      listing.busy_after = absl::ToDoubleSeconds(time.Elapsed());
    }
    return latency(request);
  });
  ComparingSink sink(*keys);
  const TempDir directory;
  settings.spill_directory = directory.path();
  Lister lister(store, time, time, settings);
  time.RunInBackground();
  ASSERT_OK(lister.Run(sink, nullptr));
  listing.seconds = absl::ToDoubleSeconds(time.Elapsed());
  listing.requests = static_cast<double>(lister.progress().requests);
  listing.streams = lister.progress().streams_peak;
  listing.boundaries = lister.Boundaries();
  listing.distance = lister.BoundaryDistance();
  EXPECT_EQ(sink.count(), keys->size());
  const double pages = std::ceil(static_cast<double>(keys->size()) / 1000);
  EXPECT_LE(listing.requests, 1.05 * pages + 2 * listing.streams);
}

void Tell(absl::string_view what, KeyShape shape, uint64_t keys, const Listing& listing) {
  std::printf("%s %-12s %9lu keys: %6.0f requests, %3u streams, %5.1f s, busy after %.1f s\n",
              std::string(what).c_str(), ::testing::PrintToString(shape).c_str(), keys, listing.requests,
              listing.streams, listing.seconds, listing.busy_after);
}

struct Case {
  KeyShape shape;
  uint64_t keys;
  double seconds;  // Bar, with 100 ms per page.
};

class ListerPaceTest : public ::testing::TestWithParam<Case> {};

TEST_P(ListerPaceTest, StaysWithinRequestsAndTime) {
  const auto [shape, keys, seconds] = GetParam();
  const auto sequence = MakeShape(shape, keys);
  Listing listing;
  ListAll(sequence, Steady, {}, listing);
  Tell("first", shape, keys, listing);
  EXPECT_LE(listing.seconds, seconds);
}

// How many keys are listed of a shape: the more, the surer that streams run out of work or split in vain. The
// shapes that come nearest to a bar have most; long keys cost most to compare and are the same at any number.
uint64_t MostKeys(KeyShape shape) {
  switch (shape) {
    case KeyShape::kEven:
    case KeyShape::kSkewed:
    case KeyShape::kDeep:
    case KeyShape::kUtf8:
    case KeyShape::kOddAlphabet:
      return 10'000'000;
    case KeyShape::kFlat:
    case KeyShape::kSmallDirs:
    case KeyShape::kHashed:
    case KeyShape::kWords:
    case KeyShape::kManyTops:
    case KeyShape::kDates:
      return 3'000'000;
    case KeyShape::kLongCommon:
      return 1'000'000;
  }
  return 0;
}

INSTANTIATE_TEST_SUITE_P(Shapes, ListerPaceTest, ::testing::ValuesIn([] {
                           std::vector<Case> cases;
                           for (int number = 0; number <= static_cast<int>(KeyShape::kDates); ++number) {
                             const auto shape = static_cast<KeyShape>(number);
                             for (const auto& [keys, seconds] :
                                  {std::pair(1, 0.1), std::pair(1'000, 0.1), std::pair(10'000, 0.8),
                                   std::pair(100'000, 1.01), std::pair(1'000'000, 2.0),
                                   std::pair(3'000'000, 3.5), std::pair(10'000'000, 11.0)}) {
                               const auto count = static_cast<uint64_t>(keys);
                               if (count <= 1'000'000 || count == MostKeys(shape))
                                 cases.push_back({shape, count, seconds});
                             }
                           }
                           return cases;
                         }()));

class ListerShapeTest : public ::testing::TestWithParam<KeyShape> {};

TEST_P(ListerShapeTest, KeepsPaceWhenPagesTakeUnequalTimes) {
  constexpr uint64_t kKeys = 1'000'000;
  const auto sequence = MakeShape(GetParam(), kKeys);
  Listing listing;
  ListAll(sequence, Unsteady, {}, listing);
  Tell("unsteady", GetParam(), kKeys, listing);
  EXPECT_LE(listing.seconds, 5);
}

TEST_P(ListerShapeTest, HintsOfAnEarlierListingStartAllStreamsAtOnce) {
  constexpr uint64_t kKeys = 1'000'000;
  const auto sequence = MakeShape(GetParam(), kKeys);
  Listing first;
  ListAll(sequence, Steady, {}, first);
  Listing again;
  ListAll(sequence, Steady,
          {.hints = first.boundaries, .keys_per_hint = first.distance, .first_streams = 128}, again);
  Tell("again", GetParam(), kKeys, again);
  EXPECT_EQ(again.busy_after, 0.0);
  EXPECT_EQ(again.streams, 128u);
  EXPECT_LE(again.seconds, 1.1);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ListerShapeTest, ::testing::ValuesIn([] {
                           std::vector<KeyShape> shapes;
                           for (int shape = 0; shape <= static_cast<int>(KeyShape::kDates); ++shape) {
                             shapes.push_back(static_cast<KeyShape>(shape));
                           }
                           return shapes;
                         }()));

}  // namespace
}  // namespace bucketvol::testing
