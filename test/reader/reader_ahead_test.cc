#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/reader.h"
#include "test/reader/read_outcome.h"
#include "test/support/fake_object_store.h"
#include "test/support/status_matchers.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using testing::ContentOf;
using testing::FakeObject;
using testing::FakeObjectStore;
using testing::FakeRequest;
using testing::ReadOutcome;
using testing::VirtualTime;

constexpr uint64_t kKiB = 1 << 10;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kFileBytes = 100'000;

/// A directory of files of 100 KB.
class Directory final : public ObjectSequence {
 public:
  explicit Directory(uint64_t files) : files_(files) {}
  uint64_t size() const override { return files_; }
  std::optional<ObjectId> At(uint64_t ordinal) const override {
    return ObjectId{absl::StrCat("file", ordinal), absl::StrCat("E", ordinal), kFileBytes};
  }

 private:
  const uint64_t files_;
};

/// A reader over a store that needs 30 ms for each answer.
class ReaderAheadTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kLatency = absl::Milliseconds(30);

  ReaderAheadTest() {
    for (uint64_t i = 0; i < directory_.size(); ++i) {
      const ObjectId file = *directory_.At(i);
      store_.Put(file.key, FakeObject{.etag = file.etag, .size = file.size});
    }
    for (const ObjectId& object : {kLarge, kOther}) {
      store_.Put(object.key, FakeObject{.etag = object.etag, .size = object.size});
    }
    store_.SetLatency([](const FakeRequest&) { return kLatency; });
  }
  ~ReaderAheadTest() override { time_.RunUntilIdle(); }
  /// Reads, and lets time pass until the answer is there.
  void Read(const ObjectId& object, ByteRange range, ReadContext context = {}) {
    const ReadOutcome read(reader_, object, range, std::move(context));
    while (!read.done()) ASSERT_TRUE(time_.RunOne());
    ASSERT_TRUE(read.text() == ContentOf(object, range));
  }
  void ReadFile(uint64_t ordinal) { Read(*directory_.At(ordinal), {0, kFileBytes}, {.ordinal = ordinal}); }
  /// How often each key was asked for.
  std::map<std::string, int> GetsByKey() const {
    std::map<std::string, int> gets;
    for (const FakeRequest& request : store_.Requests()) ++gets[request.get.key];
    return gets;
  }
  uint64_t BytesAsked() const {
    uint64_t bytes = 0;
    for (const FakeRequest& request : store_.Requests()) bytes += request.get.range.size();
    return bytes;
  }

  const ObjectId kLarge{"model.bin", "L", 512 * kMiB};
  const ObjectId kOther{"other.bin", "O", 512 * kMiB};
  VirtualTime time_;
  FakeObjectStore store_{time_};
  Directory directory_{1000};
  ReadMetrics metrics_;
  Reader reader_{store_,
                 time_,
                 metrics_,
                 ReaderSettings{.bucket_url = "oss://b", .memory_bytes = 256 * kMiB},
                 {.sequence = &directory_}};
};

TEST_F(ReaderAheadTest, AReaderInDirectoryOrderWaitsForFewFiles) {
  const absl::Duration begin = time_.Elapsed();
  for (uint64_t i = 0; i < 1000; ++i) ReadFile(i);
  EXPECT_LE(time_.Elapsed() - begin, 20 * kLatency) << "one after the other it would be 1,000";
  for (const auto& [key, gets] : GetsByKey()) EXPECT_EQ(gets, 1) << key;
  EXPECT_EQ(store_.Count(FakeRequest::Op::kGet), 1000u);
}

TEST_F(ReaderAheadTest, RandomFilesCostOneRequestEachAndHardlyMore) {
  for (uint64_t i = 0; i < 500; ++i) ReadFile(i * 613 % 1000);
  EXPECT_LE(store_.Count(FakeRequest::Op::kGet), 525u);
}

TEST_F(ReaderAheadTest, AStreamIsFetchedOnceAndMostlyAheadOfItsReader) {
  const absl::Duration begin = time_.Elapsed();
  for (uint64_t at = 0; at < 96 * kMiB; at += 512 * kKiB) Read(kLarge, {at, at + 512 * kKiB});
  EXPECT_LE(time_.Elapsed() - begin, 60 * kLatency) << "one after the other it would be 192";
  const uint64_t read_to = 96 * kMiB;
  EXPECT_LE(BytesAsked(), read_to + 128 * kMiB) << "a window at most is fetched beyond";
  EXPECT_EQ(metrics_.streams, 1u);
}

TEST_F(ReaderAheadTest, EightReadersOfOneObjectCostItsBytesOnce) {
  constexpr uint64_t kPiece = 256 * kKiB;
  const ObjectId object{"other.bin", "O", 512 * kMiB};
  for (uint64_t at = 0; at < 48 * kMiB; at += kPiece) {
    for (uint64_t reader = 0; reader < 8; ++reader) {
      const uint64_t lag = reader * 2 * kMiB;  // They drift apart by a few MiB.
      if (at >= lag) Read(object, {at - lag, at - lag + kPiece});
    }
  }
  uint64_t below = 0;
  for (const FakeRequest& request : store_.Requests()) {
    const ByteRange& range = request.get.range;
    if (range.begin < 48 * kMiB) below += std::min<uint64_t>(range.end, 48 * kMiB) - range.begin;
  }
  EXPECT_EQ(below, 48 * kMiB);
}

TEST_F(ReaderAheadTest, WhatAStreamLeavesBehindIsGivenUp) {
  for (uint64_t at = 0; at < 32 * kMiB; at += kMiB) Read(kLarge, {at, at + kMiB});
  time_.Advance(absl::Seconds(1));
  EXPECT_GT(reader_.memory().used, 0u);
  for (int second = 0; second < 22; ++second) {
    time_.Advance(absl::Seconds(1));
    reader_.Tick();
  }
  EXPECT_EQ(reader_.memory().used, 0u);
  EXPECT_EQ(reader_.memory().mapped, 0u);
  const size_t before = store_.Count(FakeRequest::Op::kGet);
  Read(kLarge, {32 * kMiB, 33 * kMiB});
  EXPECT_GT(store_.Count(FakeRequest::Op::kGet), before);
}

}  // namespace
}  // namespace bucketvol
