#include "test/support/fake_object_store.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "test/support/status_matchers.h"
#include "test/support/virtual_time.h"

namespace bucketvol::testing {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Counters final : public KeySequence {
 public:
  explicit Counters(uint64_t size) : size_(size) {}
  uint64_t size() const override { return size_; }
  void KeyAt(uint64_t index, std::string& out) const override { out = absl::StrFormat("n/%09d", index); }

 private:
  uint64_t size_;
};

class CollectingSink final : public GetSink {
 public:
  void OnData(absl::Span<const char> data) override { bytes.append(data.data(), data.size()); }
  void OnDone(absl::Status end) override { status = std::move(end); }
  std::string bytes;
  std::optional<absl::Status> status;
};

class FakeObjectStoreTest : public ::testing::Test {
 protected:
  absl::StatusOr<ListPage> List(ListRequest request) {
    absl::StatusOr<ListPage> result = absl::UnknownError("no answer");
    store_.List(std::move(request), [&](absl::StatusOr<ListPage> page) { result = std::move(page); });
    time_.RunUntilIdle();
    return result;
  }
  static std::vector<std::string> KeysOf(const absl::StatusOr<ListPage>& page) {
    std::vector<std::string> keys;
    for (const ListedObject& object : page->objects) keys.emplace_back(object.key);
    return keys;
  }
  CollectingSink Get(GetRequest request) {
    CollectingSink sink;
    store_.Get(std::move(request), &sink);
    time_.RunUntilIdle();
    return sink;
  }

  VirtualTime time_;
  FakeObjectStore store_{time_};
};

TEST_F(FakeObjectStoreTest, ListsAfterAKeyAndUnderAPrefix) {
  for (const char* key : {"a", "p/1", "p/2", "p/3", "pq", "z"}) store_.Put(key, "data");
  const auto page = List({.prefix = "p/", .start_after = "p/1", .max_keys = 1});
  ASSERT_OK(page);
  EXPECT_THAT(KeysOf(page), ElementsAre("p/2"));
  EXPECT_TRUE(page->truncated);
  const auto next = List({.prefix = "p/", .continuation_token = page->next_token});
  EXPECT_THAT(KeysOf(next), ElementsAre("p/3"));
  EXPECT_FALSE(next->truncated);
  EXPECT_THAT(next->next_token, IsEmpty());
}

TEST_F(FakeObjectStoreTest, DelimiterGroupsKeys) {
  for (const char* key : {"a/1", "a/2", "b", "c/1"}) store_.Put(key, "data");
  const auto page = List({.delimiter = "/"});
  ASSERT_OK(page);
  EXPECT_THAT(KeysOf(page), ElementsAre("b"));
  EXPECT_THAT(page->common_prefixes, ElementsAre("a/", "c/"));
}

TEST_F(FakeObjectStoreTest, SequenceAndStoredObjectsAreOneListing) {
  store_.SetSequence(std::make_shared<Counters>(10'000'000));
  store_.Put("n/000000001x", "data");
  store_.Put("n/000000002", "mine", "MYTAG");
  const auto page = List({.start_after = "n/000000000", .max_keys = 3});
  EXPECT_THAT(KeysOf(page), ElementsAre("n/000000001", "n/000000001x", "n/000000002"));
  EXPECT_EQ(page->objects[2].etag, "MYTAG");
  EXPECT_EQ(page->objects[0].size, FakeMetadata("n/000000001").size);
  EXPECT_THAT(List({.start_after = "n/009999998"})->objects, SizeIs(1));
}

TEST_F(FakeObjectStoreTest, GetGivesTheRange) {
  store_.Put("k", "0123456789");
  const CollectingSink sink = Get({.key = "k", .range = {2, 5}});
  EXPECT_EQ(sink.bytes, "234");
  EXPECT_OK(*sink.status);
}

TEST_F(FakeObjectStoreTest, GetWithoutDataGivesContentByPosition) {
  store_.Put("big", FakeObject{.etag = "E", .size = 1'000'000});
  const CollectingSink whole = Get({.key = "big", .range = {0, 1'000'000}});
  const CollectingSink part = Get({.key = "big", .range = {777'777, 888'888}});
  EXPECT_EQ(whole.bytes.substr(777'777, 111'111), part.bytes);
}

TEST_F(FakeObjectStoreTest, GetRefusesAnotherVersion) {
  store_.Put("k", "0123456789", "OLD");
  const auto precondition = StatusIs(absl::StatusCode::kFailedPrecondition, _);
  EXPECT_THAT(*Get({.key = "k", .range = {0, 5}, .if_match = "NEW"}).status, precondition);
  EXPECT_THAT(*Get({.key = "k", .range = {0, 5}, .object_size = 11}).status, precondition);
  EXPECT_THAT(*Get({.key = "k", .range = {5, 11}}).status, precondition);
  EXPECT_THAT(*Get({.key = "no", .range = {0, 1}}).status, StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(FakeObjectStoreTest, FaultEndsAGetAfterSomeBytes) {
  store_.Put("k", "0123456789");
  store_.SetGetFault([](const GetRequest&) {
    return FakeObjectStore::GetFault{absl::UnavailableError("reset"), 3};
  });
  const CollectingSink sink = Get({.key = "k", .range = {0, 10}});
  EXPECT_EQ(sink.bytes, "012");
  EXPECT_THAT(*sink.status, StatusIs(absl::StatusCode::kUnavailable, "reset"));
}

TEST_F(FakeObjectStoreTest, HeldRequestsWaitForRelease) {
  store_.Put("k", "data");
  store_.Hold();
  int answers = 0;
  for (int i = 0; i < 10; ++i) store_.Head("k", [&](absl::StatusOr<ObjectInfo>) { ++answers; });
  time_.RunUntilIdle();
  EXPECT_EQ(answers, 0);
  EXPECT_EQ(store_.Count(FakeRequest::Op::kHead), 10u);
  EXPECT_EQ(store_.peak_in_flight(), 10u);
  store_.Release();
  time_.RunUntilIdle();
  EXPECT_EQ(answers, 10);
  EXPECT_EQ(store_.in_flight(), 0u);
}

TEST_F(FakeObjectStoreTest, CancelledRequestIsAnsweredOnceAndEarly) {
  store_.SetLatency([](const FakeRequest&) { return absl::Seconds(10); });
  auto cancellation = std::make_shared<Cancellation>();
  std::vector<absl::Status> answers;
  store_.List({.cancellation = cancellation},
              [&](absl::StatusOr<ListPage> page) { answers.push_back(page.status()); });
  cancellation->Cancel();
  EXPECT_THAT(answers, IsEmpty());  // Never inside the call.
  time_.RunUntilIdle();
  EXPECT_THAT(answers, ElementsAre(StatusIs(absl::StatusCode::kCancelled, _)));
}

TEST_F(FakeObjectStoreTest, DeadlineEndsASlowAnswer) {
  store_.SetLatency([](const FakeRequest&) { return absl::Seconds(10); });
  EXPECT_THAT(List({.deadline = absl::Seconds(2)}), StatusIs(absl::StatusCode::kDeadlineExceeded, _));
}

TEST(FakeObjectStoreLifeTest, DestructorAnswersWhatIsInFlight) {
  VirtualTime time;
  absl::Status answer;
  {
    FakeObjectStore store(time);
    store.Hold();
    store.Head("k", [&](absl::StatusOr<ObjectInfo> info) { answer = info.status(); });
  }
  EXPECT_THAT(answer, StatusIs(absl::StatusCode::kCancelled, _));
  time.RunUntilIdle();  // Nothing that is left may touch the store.
}

}  // namespace
}  // namespace bucketvol::testing
