#include "mounter/index/lister.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mounter/objstore/store_error.h"
#include "test/index/lister_fixture.h"
#include "test/index/lister_shapes.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<std::string> Counters(int count, absl::string_view stem = "n/") {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back(absl::StrCat(stem, absl::Dec(i, absl::kZeroPad6)));
  return keys;
}

ListerSettings SmallPages() { return {.page_keys = 10, .min_streams = 4, .max_streams = 32}; }

class ListerTest : public ::testing::Test {
 protected:
  ListerRig rig_;
};

TEST_F(ListerTest, EmptyBucketGivesNothing) {
  EXPECT_OK(rig_.Run({}));
  EXPECT_THAT(rig_.sink.keys, IsEmpty());
  EXPECT_THAT(rig_.lister->Boundaries(), IsEmpty());
}

TEST_F(ListerTest, SmallBucketTakesTwoRequests) {
  rig_.Put(Counters(1000));
  EXPECT_OK(rig_.Run({}));
  EXPECT_EQ(rig_.sink.keys, Counters(1000));
  EXPECT_EQ(rig_.lists(), 2u);
}

TEST_F(ListerTest, PrefixIsAWholeSegment) {
  rig_.Put({"p/", "p/a", "p0", "pq/a", "o"});
  EXPECT_OK(rig_.Run({.prefix = "p/"}));
  EXPECT_THAT(rig_.sink.keys, ElementsAre("p/", "p/a"));
}

TEST_F(ListerTest, MetadataComesAsListed) {
  rig_.Put(Counters(300));
  FakeObject odd{.etag = "5B3C1A2E053D763E1B002CC607C5A0FE-12", .size = 1ull << 44, .modified_ms = -5};
  odd.kind = ListedObject::Kind::kSymlink;
  odd.archived = true;
  rig_.store.Put("n/000150", odd);
  class Sink final : public ListingSink {
   public:
    absl::Status Add(absl::Span<const ListedObject> objects) override {
      for (const ListedObject& object : objects) {
        if (object.key != "n/000150") continue;
        EXPECT_EQ(object.etag, "5B3C1A2E053D763E1B002CC607C5A0FE-12");
        EXPECT_EQ(object.size, 1ull << 44);
        EXPECT_EQ(object.modified_ms, -5);
        EXPECT_EQ(object.kind, ListedObject::Kind::kSymlink);
        EXPECT_TRUE(object.archived);
        ++found;
      }
      return absl::OkStatus();
    }
    int found = 0;
  } sink;
  rig_.time.RunInBackground();
  Lister lister(rig_.store, rig_.time, rig_.time, SmallPages());
  ASSERT_OK(lister.Run(sink, nullptr));
  EXPECT_EQ(sink.found, 1);
}

TEST_F(ListerTest, ServiceWithSmallerPagesOfItsOwn) {
  rig_.Put(Counters(2000));
  rig_.store.SetMaxPageKeys(100);
  EXPECT_OK(rig_.Run({}));
  EXPECT_EQ(rig_.sink.keys, Counters(2000));
  EXPECT_LE(rig_.lists(), 21u + 2 * rig_.lister->progress().streams_peak);
}

TEST_F(ListerTest, OneStreamListsSeriallyWithoutExtraRequests) {
  rig_.Put(Counters(1000));
  EXPECT_OK(rig_.Run({.page_keys = 10, .min_streams = 1, .max_streams = 1}));
  EXPECT_EQ(rig_.sink.keys, Counters(1000));
  EXPECT_EQ(rig_.lists(), 100u);
  EXPECT_EQ(rig_.store.peak_in_flight(), 1u);
}

TEST_F(ListerTest, BoundariesMakeTheNextListingExact) {
  const auto keys = MakeShape(KeyShape::kWords, 200'000);
  rig_.store.SetSequence(keys);
  rig_.store.SetLatency([](const FakeRequest&) { return absl::Milliseconds(100); });
  ASSERT_OK(rig_.Run({}));
  const std::vector<std::string> first = rig_.sink.keys;
  const std::vector<std::string> boundaries = rig_.lister->Boundaries();
  EXPECT_THAT(boundaries, SizeIs(200));
  const absl::Duration before = rig_.time.Elapsed();
  const size_t lists = rig_.lists();
  ASSERT_OK(rig_.Run({.hints = boundaries}));
  EXPECT_EQ(rig_.sink.keys, first);
  EXPECT_LE(rig_.lists() - lists, 201u);  // None was wasted but the one behind the last key.
  EXPECT_LE(rig_.time.Elapsed() - before, absl::Milliseconds(600));
}

TEST_F(ListerTest, WrongHintsCostOnlyRequests) {
  rig_.Put(Counters(3000));
  ListerSettings settings = SmallPages();
  settings.hints = {
      "", "a", "n/0015", "n/0015", "zzz", "\xff\xff", std::string(5000, 'n'), std::string("n/\0", 3)};
  EXPECT_OK(rig_.Run(settings));
  EXPECT_EQ(rig_.sink.keys, Counters(3000));
  settings.prefix = "n/";
  EXPECT_OK(rig_.Run(settings));
  EXPECT_EQ(rig_.sink.keys, Counters(3000));
}

TEST_F(ListerTest, KeysThatStayAppearOnceWhateverComesAndGoes) {
  rig_.Put(Counters(3000));
  std::set<std::string> unsteady;
  int requests = 0;
  rig_.store.SetObserver([&](const FakeRequest&) {
    // Deletes a key here, makes others there: in front of, between, and behind all requests.
    const int place = ++requests * 7919 % 3000;
    const std::string gone = Counters(3000)[static_cast<size_t>(place)];
    rig_.store.Delete(gone);
    unsteady.insert(gone);
    for (const char* stem : {"a/", "n/", "z/"}) {
      const std::string made = absl::StrCat(stem, absl::Dec(place, absl::kZeroPad6), "-new");
      rig_.store.Put(made, FakeMetadata(made));
      unsteady.insert(made);
    }
  });
  EXPECT_OK(rig_.Run(SmallPages()));
  EXPECT_EQ(rig_.sink.out_of_order, 0u);
  std::vector<std::string> steady;
  for (const std::string& key : rig_.sink.keys) {
    if (unsteady.count(key) == 0) steady.push_back(key);
  }
  std::vector<std::string> expected;
  for (const std::string& key : Counters(3000)) {
    if (unsteady.count(key) == 0) expected.push_back(key);
  }
  EXPECT_GT(unsteady.size(), 600u);
  EXPECT_EQ(steady, expected);
}

TEST_F(ListerTest, SinkErrorEndsTheListing) {
  rig_.Put(Counters(3000));
  rig_.sink.answer = absl::ResourceExhaustedError("disk full");
  EXPECT_THAT(rig_.Run(SmallPages()), StatusIs(absl::StatusCode::kResourceExhausted, "disk full"));
  EXPECT_EQ(rig_.sink.calls, 1u);
  EXPECT_EQ(rig_.store.in_flight(), 0u);
}

TEST_F(ListerTest, CancellationEndsRequestsInFlight) {
  rig_.Put(Counters(3000));
  auto cancellation = std::make_shared<Cancellation>();
  rig_.store.Hold();  // No request is ever answered.
  std::thread canceller([&] {
    rig_.store.AwaitHeld(1);
    cancellation->Cancel();
  });
  EXPECT_THAT(rig_.Run(SmallPages(), cancellation), StatusIs(absl::StatusCode::kCancelled, _));
  EXPECT_EQ(rig_.store.in_flight(), 0u);
  canceller.join();
}

TEST_F(ListerTest, CancelledBeforeItBegan) {
  rig_.Put(Counters(30));
  auto cancellation = std::make_shared<Cancellation>();
  cancellation->Cancel();
  EXPECT_THAT(rig_.Run(SmallPages(), cancellation), StatusIs(absl::StatusCode::kCancelled, _));
  EXPECT_THAT(rig_.sink.keys, IsEmpty());
}

TEST_F(ListerTest, ProgressCounts) {
  rig_.Put(Counters(3000));
  ASSERT_OK(rig_.Run(SmallPages()));
  const ListerProgress& progress = rig_.lister->progress();
  EXPECT_EQ(progress.keys, 3000u);
  EXPECT_EQ(progress.requests, rig_.lists());
  EXPECT_GE(progress.streams_peak, rig_.store.peak_in_flight());
  EXPECT_EQ(progress.streams, 0u);
}

TEST_F(ListerTest, KeysThatWaitGoToTheSpillFileAndComeBack) {
  const TempDir directory;
  rig_.Put(Counters(5000));
  ListerSettings settings = SmallPages();
  settings.memory_bytes = 1000;
  settings.spill_directory = directory / "made/on/demand";
  EXPECT_OK(rig_.Run(settings));
  EXPECT_EQ(rig_.sink.keys, Counters(5000));
  EXPECT_EQ(rig_.sink.wrong_metadata, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(directory / "made/on/demand"));  // It has no name.
}

TEST_F(ListerTest, UnusableSpillDirectoryIsAClearError) {
  const TempDir directory;
  rig_.Put(Counters(5000));
  ListerSettings settings = SmallPages();
  settings.memory_bytes = 0;
  std::ofstream(directory / "file") << "in the way";
  settings.spill_directory = directory / "file";
  EXPECT_THAT(rig_.Run(settings),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("keeping a part of the listing in"), HasSubstr("/file"))));
}

// Without memory and disk for keys that wait, the lister may not run ahead of the sink.
TEST_F(ListerTest, WaitsForTheSinkWhenThereIsNoRoom) {
  rig_.Put(Counters(5000));
  ListerSettings settings = SmallPages();
  settings.memory_bytes = 0;
  EXPECT_OK(rig_.Run(settings));
  EXPECT_EQ(rig_.sink.keys, Counters(5000));
}

// Real threads in the store, the executor and the sink, for the sanitizers.
TEST(ListerThreadsTest, ManyThreadsGiveTheSameListing) {
  const TempDir directory;
  const auto keys = MakeShape(KeyShape::kSkewed, 60'000);
  for (const uint64_t memory : {uint64_t{0}, uint64_t{200'000}, uint64_t{64} << 20}) {
    ThreadPool network("network", 4);
    ThreadPool workers("workers", 3);
    FakeObjectStore store(network);
    store.SetSequence(keys);
    CollectingSink sink;
    Lister lister(store, Clock::Real(), workers,
                  {.page_keys = 100, .memory_bytes = memory, .spill_directory = directory.path()});
    ASSERT_OK(lister.Run(sink, nullptr));
    EXPECT_EQ(sink.keys.size(), 60'000u);
    EXPECT_EQ(sink.out_of_order, 0u);
    EXPECT_EQ(sink.wrong_metadata, 0u);
  }
}

TEST(ListerThreadsTest, CancellationAtAnyMoment) {
  const auto keys = MakeShape(KeyShape::kEven, 20'000);
  for (size_t after = 0; after < 60; ++after) {
    ThreadPool network("network", 2);
    ThreadPool workers("workers", 2);
    FakeObjectStore store(network);
    store.SetSequence(keys);
    auto cancellation = std::make_shared<Cancellation>();
    store.SetObserver([&](const FakeRequest&) {
      if (store.Count(FakeRequest::Op::kList) > after) cancellation->Cancel();
    });
    CollectingSink sink;
    Lister lister(store, Clock::Real(), workers, {.page_keys = 100});
    EXPECT_THAT(lister.Run(sink, cancellation), StatusIs(absl::StatusCode::kCancelled, _));
    EXPECT_EQ(sink.out_of_order, 0u);
  }
}

}  // namespace
}  // namespace bucketvol::testing
