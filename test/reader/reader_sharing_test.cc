// How readers of several objects share memory and link.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/reader.h"
#include "test/reader/manual_reader_test.h"
#include "test/reader/manual_store.h"
#include "test/reader/read_outcome.h"
#include "test/support/fake_clock.h"

namespace bucketvol {
namespace {

using testing::ContentOf;
using testing::FakeClock;
using testing::ManualReaderTest;
using testing::ManualStore;
using testing::ReadOutcome;

constexpr uint64_t kMiB = 1 << 20;

/// A reader whose GETs the test answers by hand.
class ReaderFairnessTest : public ManualReaderTest {
 protected:
  ReaderFairnessTest() : ManualReaderTest({.memory_bytes = 32 * kMiB}) {}
  uint64_t AskedOf(const std::string& key) const {
    uint64_t bytes = 0;
    for (size_t get = 0; get < store_.count(); ++get) {
      if (store_.request(get).key == key) bytes += store_.request(get).range.size();
    }
    return bytes;
  }

  const ObjectId kSlow{"slow", "S", 256 * kMiB};
  const ObjectId kFast{"fast", "F", 256 * kMiB};
};

TEST_F(ReaderFairnessTest, AStalledObjectDelaysNobodyElse) {
  const ReadOutcome stalled(reader_, kSlow, {0, kMiB});  // Its bytes never come.
  for (uint64_t at = 0; at < 64 * kMiB; at += kMiB) {
    const ReadOutcome read(reader_, kFast, {at, at + kMiB});
    for (size_t get = 0; get < store_.count(); ++get) {
      if (store_.InFlight(get) && store_.request(get).key == "fast") store_.Complete(get);
    }
    ASSERT_EQ(read.text(), ContentOf(kFast, {at, at + kMiB}));
  }
  EXPECT_FALSE(stalled.done());
}

TEST_F(ReaderFairnessTest, AReaderThatComesWhileItsBytesAreQueuedGetsThemAtOnce) {
  reader_.Prefetch(kSlow, {0, 128 * kMiB});  // More than there is memory for.
  const size_t before = store_.count();
  const ReadOutcome read(reader_, kSlow, {100 * kMiB, 101 * kMiB});
  ASSERT_EQ(store_.count(), before + 1);
  EXPECT_EQ(store_.request(before).range.begin, 100 * kMiB);
  store_.Complete(before);
  EXPECT_EQ(read.text(), ContentOf(kSlow, {100 * kMiB, 101 * kMiB}));
}

/// What is fetched ahead of two objects while the link lets sixteen requests out at a time.
class ReaderTurnsTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kPart = 8 * kMiB;

  ~ReaderTurnsTest() override { store_.CancelAll(); }
  ReadOutcome ReadOf(const ObjectId& object, ByteRange range) { return ReadOutcome(reader_, object, range); }
  /// Ends the request that is out for longest.
  void EndOldest() {
    while (!store_.InFlight(oldest_)) ++oldest_;
    store_.Complete(oldest_);
  }
  /// How many of the requests from `first` on are for an object.
  int GetsOf(const ObjectId& object, size_t first) const {
    int gets = 0;
    for (size_t get = first; get < store_.count(); ++get)
      gets += store_.request(get).key == object.key ? 1 : 0;
    return gets;
  }

  ManualStore store_;
  FakeClock clock_;
  ReadMetrics metrics_;
  Reader reader_{store_, clock_, metrics_, ReaderSettings{.memory_bytes = 2048 * kMiB}};
  size_t oldest_ = 0;
  const ObjectId kFirst{"first", "F", 1024 * kMiB};
  const ObjectId kSecond{"second", "S", 1024 * kMiB};
};

TEST_F(ReaderTurnsTest, WhoComesLaterDoesNotWaitForAllThatWasWantedBefore) {
  reader_.Prefetch(kFirst, {0, 512 * kMiB});
  reader_.Prefetch(kSecond, {0, 512 * kMiB});
  const size_t before = store_.count();
  ASSERT_EQ(GetsOf(kFirst, 0), 16) << "nobody else was there";
  while (store_.count() < before + 16) EndOldest();
  EXPECT_NEAR(GetsOf(kSecond, before), 8, 1);
  EXPECT_NEAR(GetsOf(kFirst, before), 8, 1);
}

TEST_F(ReaderTurnsTest, WhoseReadersConsumeMoreGetsMore) {
  reader_.Prefetch(kSecond, {0, kPart});
  EndOldest();
  reader_.Prefetch(kFirst, {0, 512 * kMiB});
  reader_.Prefetch(kSecond, {0, 512 * kMiB});
  const size_t before = store_.count();
  while (store_.count() < before + 32) {
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(ReadOf(kSecond, {4 * kMiB, 5 * kMiB}).done());
    EndOldest();
  }
  EXPECT_GE(GetsOf(kSecond, before), 2 * GetsOf(kFirst, before));
  EXPECT_GT(GetsOf(kFirst, before), 0);
}

/// Streams that share 96 MiB of memory: 72 MiB are for what is fetched ahead of them.
class ReaderWindowsTest : public ::testing::Test {
 protected:
  ~ReaderWindowsTest() override { store_.CancelAll(); }
  /// Begins a stream in an object of its own; returns how far it is fetched ahead of the first MiB.
  uint64_t Begin() {
    const ObjectId object{absl::StrCat("object", objects_++), "E", 256 * kMiB};
    const size_t before = store_.count();
    const ReadOutcome read(reader_, object, {0, kMiB});
    EndAll();
    EXPECT_EQ(read.text(), ContentOf(object, {0, kMiB}));
    uint64_t end = 0;
    for (size_t get = before; get < store_.count(); ++get) {
      if (store_.request(get).key == object.key) end = std::max(end, store_.request(get).range.end);
    }
    return end - kMiB;
  }
  void EndAll() {
    for (size_t get = 0; get < store_.count(); ++get) {
      if (store_.InFlight(get)) store_.Complete(get);
    }
  }
  void Wait(int seconds) {
    for (int second = 0; second < seconds; ++second) {
      clock_.Advance(absl::Seconds(1));
      reader_.Tick();
    }
  }

  ManualStore store_;
  FakeClock clock_;
  ReadMetrics metrics_;
  Reader reader_{store_, clock_, metrics_, ReaderSettings{.memory_bytes = 96 * kMiB}};
  int objects_ = 0;
};

TEST_F(ReaderWindowsTest, WhatOthersKeepAheadIsMissingAndComesBackWhenTheyEnd) {
  for (int stream = 0; stream < 18; ++stream) EXPECT_EQ(Begin(), 4 * kMiB) << stream;
  EXPECT_EQ(Begin(), 4 * kMiB) << "an equal part, although nothing is left";
  EXPECT_EQ(Begin(), 3 * kMiB) << "72 MiB shared by 19";
  Wait(10);
  EXPECT_EQ(Begin(), 4 * kMiB);
}

TEST_F(ReaderWindowsTest, WhereMemoryHasRunOutWindowsAreSmallerForAWhile) {
  const ObjectId large{"large", "L", 256 * kMiB};
  reader_.Prefetch(large, {0, 104 * kMiB});  // More than there is memory for.
  for (int stream = 0; stream < 8; ++stream) Begin();
  clock_.Advance(absl::Seconds(61));
  reader_.Tick();  // What nobody has read leaves, and the rest comes.
  EndAll();
  EXPECT_EQ(Begin(), 2 * kMiB);
  Wait(10);
  EXPECT_EQ(Begin(), 4 * kMiB);
}

}  // namespace
}  // namespace bucketvol
