#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/reader.h"
#include "test/support/fake_clock.h"

namespace bucketvol {
namespace {

/// A store whose GETs advance when the test says so, in any order, by any number of bytes, to any end. Counts
/// those for what is coming already.
class SteppedStore final : public ObjectStore {
 public:
  explicit SteppedStore(const std::map<std::string, std::string>& content) : content_(content) {}

  void List(ListRequest, ListCallback done) override { std::move(done)(absl::UnimplementedError("")); }
  void Head(std::string, HeadCallback done) override { std::move(done)(absl::UnimplementedError("")); }
  void Get(GetRequest request, GetSink* sink) override {
    for (const Pending& other : pending_) {
      const ByteRange coming{other.request.range.begin + other.sent, other.request.range.end};
      const bool apart =
          coming.empty() || coming.end <= request.range.begin || request.range.end <= coming.begin;
      if (other.request.key == request.key && !apart && !other.request.cancellation->cancelled()) ++twice_;
    }
    ++gets_;
    asked_ += request.range.size();
    pending_.push_back({std::move(request), sink, 0});
  }

  /// Lets one GET go on.
  void Step(std::mt19937_64& random) {
    if (pending_.empty()) return;
    auto get = std::next(pending_.begin(), static_cast<long>(random() % pending_.size()));
    const uint64_t left = get->request.range.size() - get->sent;
    if (get->request.cancellation->cancelled()) return End(get, absl::CancelledError("cancelled"));
    if (failing_ && random() % 40 == 0) return End(get, absl::UnavailableError("injected"));
    if (left == 0) return End(get, absl::OkStatus());
    const uint64_t bytes = std::min(left, 1 + random() % 30'000);
    const char* const from = content_.at(get->request.key).data() + get->request.range.begin + get->sent;
    get->sent += bytes;
    get->sink->OnData({from, bytes});
  }
  void Drain(std::mt19937_64& random) {
    while (!pending_.empty()) Step(random);
  }
  void SetFailing(bool failing) { failing_ = failing; }
  uint64_t asked() const { return asked_; }
  uint64_t gets() const { return gets_; }
  uint64_t twice() const { return twice_; }

 private:
  struct Pending {
    GetRequest request;
    GetSink* sink;
    uint64_t sent;
  };
  void End(std::list<Pending>::iterator get, const absl::Status& status) {
    GetSink* const sink = get->sink;
    pending_.erase(get);
    sink->OnDone(status);
  }

  const std::map<std::string, std::string>& content_;
  std::list<Pending> pending_;
  bool failing_ = false;
  uint64_t asked_ = 0;
  uint64_t gets_ = 0;
  uint64_t twice_ = 0;
};

/// Many objects, a memory that holds a small part of them, and a million random events: reads, cancellations,
/// arrivals, failures, evictions, time. Every answer is compared with what the object holds.
class ReaderModelTest : public ::testing::TestWithParam<Caching> {
 protected:
  struct Started {
    std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
    bool cancelled = false;
    bool answered = false;
  };

  ReaderModelTest() {
    for (int i = 0; i < 30; ++i) {
      const uint64_t size = 1 + random_() % (uint64_t{1} << (6 + random_() % 14));
      std::string bytes(size, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random_());
      objects_.push_back({absl::StrCat("object", i), absl::StrCat("E", i), size});
      content_[objects_.back().key] = std::move(bytes);
    }
  }

  void Check(const ObjectId& object, ByteRange range, Started& read, const absl::StatusOr<ReadData>& result) {
    EXPECT_FALSE(read.answered) << "answered twice";
    read.answered = true;
    if (!result.ok()) {
      const bool expected =
          absl::IsUnavailable(result.status()) || (read.cancelled && absl::IsCancelled(result.status()));
      EXPECT_TRUE(expected) << result.status();
      failed_ += expected ? 1 : 0;
      return;
    }
    uint64_t position = range.begin;
    for (const Slice& slice : result->slices) {
      const char* const expected = content_.at(object.key).data() + position;
      position += slice.bytes.size();
      ASSERT_LE(position, range.end);
      ASSERT_EQ(std::memcmp(slice.bytes.data(), expected, slice.bytes.size()), 0) << object.key;
    }
    EXPECT_EQ(position, range.end);
    delivered_ += range.size();
    if (random_() % 16 == 0) lent_.push_back(result->slices[0]);
    if (lent_.size() > 20) lent_.pop_front();
  }

  void StartRead(Reader& reader) {
    const ObjectId& object = objects_[random_() % objects_.size()];
    const bool goes_on = random_() % 2 == 0;
    const uint64_t begin = goes_on ? next_[object.key] % object.size : random_() % object.size;
    const ByteRange range{begin, begin + 1 + random_() % std::min<uint64_t>(object.size - begin, 20'000)};
    next_[object.key] = range.end;
    auto read = std::make_shared<Started>();
    reads_.push_back(read);
    reader.Read(object, range, {read->cancellation},
                [this, &object, range, read](absl::StatusOr<ReadData> result) {
                  Check(object, range, *read, result);
                });
  }

  void Cancel() {
    if (reads_.empty()) return;
    Started& read = *reads_[random_() % reads_.size()];
    read.cancelled = true;
    read.cancellation->Cancel();
  }

  void RunEvent(Reader& reader) {
    const uint64_t event = random_() % 100;
    if (event < 45) {
      StartRead(reader);
    } else if (event < 95) {
      store_.Step(random_);
    } else if (event < 97) {
      Cancel();
    } else if (event < 98) {
      const ObjectId& object = objects_[random_() % objects_.size()];
      reader.Prefetch(object, {random_() % object.size, object.size});
    } else {
      clock_.Advance(absl::Milliseconds(random_() % 300));
      if (random_() % 20 == 0) reader.Tick();
    }
    if (reads_.size() > 300) reads_.erase(reads_.begin(), reads_.begin() + 100);
  }

  std::mt19937_64 random_{7};
  std::vector<ObjectId> objects_;
  std::map<std::string, std::string> content_;
  std::map<std::string, uint64_t> next_;
  std::vector<std::shared_ptr<Started>> reads_;  // The latest.
  std::list<Slice> lent_;                        // Kept for a while, as a slow receiver does.
  uint64_t delivered_ = 0;
  uint64_t failed_ = 0;
  testing::FakeClock clock_;
  ReadMetrics metrics_;
  SteppedStore store_{content_};
};

TEST_P(ReaderModelTest, AMillionEventsMakeNoDifferenceToTheBytes) {
  constexpr int kEvents = 600'000;  // For each of the parameters.
  constexpr uint64_t kMemory = 512 << 10;
  constexpr uint64_t kBeyond = 128 << 10;
  {
    Reader reader(store_, clock_, metrics_,
                  ReaderSettings{.bucket_url = "oss://b",
                                 .caching = GetParam(),
                                 .memory_bytes = kMemory,
                                 .block_bytes = 4096,
                                 .fetch_bytes = 32 << 10,
                                 .beyond_memory_bytes = kBeyond,
                                 .streams = {.whole_object_bytes = 64 << 10}});
    for (int i = 0; i < kEvents && !HasFatalFailure(); ++i) {
      store_.SetFailing(i / 50'000 % 2 == 1);
      RunEvent(reader);
      // One fetch always may run beyond it all, and a small object is fetched whole.
      ASSERT_LE(reader.memory().used, kMemory + kBeyond + (128 << 10));
    }
    store_.SetFailing(false);
    store_.Drain(random_);
    for (const std::shared_ptr<Started>& read : reads_) EXPECT_TRUE(read->answered);
    EXPECT_EQ(reader.fetches_in_flight(), 0u);
    EXPECT_EQ(metrics_.from_memory + metrics_.from_store, delivered_);
    EXPECT_GT(metrics_.from_memory, 0u);
    EXPECT_GT(failed_, 0u);
    // What a GET brings between its blocks may have left the memory meanwhile, and be asked for again.
    EXPECT_LE(store_.twice(), store_.gets() / 100);
    lent_.clear();
    for (int second = 0; second < 75; ++second) {
      clock_.Advance(absl::Seconds(1));
      reader.Tick();
      store_.Drain(random_);
    }
    EXPECT_EQ(reader.memory().used, 0u);
    EXPECT_EQ(reader.memory().mapped, 0u);
  }
  EXPECT_EQ(metrics_.bad_checksums, 0u);
}

INSTANTIATE_TEST_SUITE_P(Caching, ReaderModelTest, ::testing::Values(Caching::kOn, Caching::kOff));

}  // namespace
}  // namespace bucketvol
