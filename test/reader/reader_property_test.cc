#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/reader.h"
#include "test/reader/read_outcome.h"
#include "test/support/fake_object_store.h"

namespace bucketvol {
namespace {

using testing::ContentOf;
using testing::FakeObject;
using testing::FakeObjectStore;

constexpr int kThreads = 4;
constexpr int kReadsPerThread = 30'000;
constexpr int kInFlight = 50;  // Per thread.

/// Random reads of many objects, by several threads, through a memory that holds a small part of them, over a
/// store that fails now and then: every answer is right, or an error that the store gave.
class ReaderPropertyTest : public ::testing::Test {
 protected:
  ReaderPropertyTest() {
    std::mt19937_64 random(1);
    for (int i = 0; i < 40; ++i) {
      // From one byte to a few hundred blocks.
      const uint64_t size = 1 + random() % (uint64_t{1} << (random() % 21));
      objects_.push_back({"object" + std::to_string(i), "E" + std::to_string(i), size});
      store_.Put(objects_[i].key, FakeObject{.etag = objects_[i].etag, .size = size});
    }
    store_.ForgetRequests();
  }

  void FailSometimes() {
    store_.SetGetFault([this](const GetRequest& request) -> std::optional<FakeObjectStore::GetFault> {
      const uint64_t number = faults_.fetch_add(1);
      if (number % 17 != 0) return std::nullopt;
      return FakeObjectStore::GetFault{absl::UnavailableError("injected"), number % request.range.size()};
    });
  }

  void Check(const ObjectId& object, ByteRange range, const absl::StatusOr<ReadData>& result) {
    if (!result.ok()) {
      if (absl::IsUnavailable(result.status())) return failed_.fetch_add(1), void();
      if (absl::IsCancelled(result.status()) && cancelling_) return cancelled_.fetch_add(1), void();
      ADD_FAILURE() << result.status();
      return;
    }
    if (testing::Joined(*result) != ContentOf(object, range)) wrong_.fetch_add(1);
    right_.fetch_add(1);
  }

  void ReadAtRandom(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int done = 0; done < kReadsPerThread; done += kInFlight) {
      absl::BlockingCounter waiting(kInFlight);
      std::vector<std::shared_ptr<Cancellation>> cancellations;
      for (int i = 0; i < kInFlight; ++i) {
        const ObjectId& object = objects_[random() % objects_.size()];
        const uint64_t begin = random() % (object.size + 1);
        const ByteRange range{begin,
                              begin + random() % (std::min<uint64_t>(object.size - begin, 20'000) + 1)};
        cancellations.push_back(cancelling_ ? std::make_shared<Cancellation>() : nullptr);
        reader_.Read(object, range, {cancellations.back()}, [&, range](absl::StatusOr<ReadData> result) {
          Check(object, range, result);
          waiting.DecrementCount();
        });
      }
      for (const auto& cancellation : cancellations) {
        if (cancellation != nullptr && random() % 4 == 0) cancellation->Cancel();
      }
      waiting.Wait();
    }
  }

  void Run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { ReadAtRandom(i); });
    for (std::thread& thread : threads) thread.join();
  }

  // What nobody waits for, and looks at what there is, until `stop`.
  void PrefetchAndTick(const std::atomic<bool>& stop) {
    std::mt19937_64 random(99);
    while (!stop) {
      const ObjectId& object = objects_[random() % objects_.size()];
      reader_.Prefetch(object, {random() % object.size, object.size});
      reader_.Tick();
      (void)reader_.memory();
      std::this_thread::yield();
    }
  }

  ThreadPool pool_{"store", 3};
  FakeObjectStore store_{pool_};
  std::vector<ObjectId> objects_;
  std::atomic<uint64_t> faults_{0};
  std::atomic<uint64_t> right_{0};
  std::atomic<uint64_t> wrong_{0};
  std::atomic<uint64_t> failed_{0};
  std::atomic<uint64_t> cancelled_{0};
  bool cancelling_ = false;
  ReadMetrics metrics_;
  Reader reader_{store_, Clock::Real(), metrics_,
                 ReaderSettings{.bucket_url = "oss://b",
                                .memory_bytes = 512 << 10,
                                .block_bytes = 4096,
                                .fetch_bytes = 32 << 10,
                                .beyond_memory_bytes = 128 << 10,
                                .streams = {.whole_object_bytes = 64 << 10}}};
};

TEST_F(ReaderPropertyTest, EveryByteIsRight) {
  Run();
  EXPECT_EQ(wrong_, 0u);
  EXPECT_EQ(right_, static_cast<uint64_t>(kThreads * kReadsPerThread));
  EXPECT_GT(metrics_.from_memory, 0u);
  // The last fetches may still be on their way out.
  EXPECT_LE(reader_.memory().used, reader_.memory().limit + (4 + kThreads + 3) * (32 << 10));
}

TEST_F(ReaderPropertyTest, EveryByteIsRightOrTheStoresErrorComes) {
  FailSometimes();
  Run();
  EXPECT_EQ(wrong_, 0u);
  EXPECT_EQ(right_ + failed_, static_cast<uint64_t>(kThreads * kReadsPerThread));
  EXPECT_GT(failed_, 0u);
  EXPECT_GT(right_, failed_);
}

TEST_F(ReaderPropertyTest, EveryByteIsRightWhileReadsAreCancelledAndOthersFetchAhead) {
  FailSometimes();
  cancelling_ = true;
  std::atomic<bool> stop{false};
  std::thread other([&] { PrefetchAndTick(stop); });
  Run();
  stop = true;
  other.join();
  EXPECT_EQ(wrong_, 0u);
  EXPECT_EQ(right_ + failed_ + cancelled_, static_cast<uint64_t>(kThreads * kReadsPerThread));
  EXPECT_GT(cancelled_, 0u);
  EXPECT_GT(right_, failed_);
}

}  // namespace
}  // namespace bucketvol
