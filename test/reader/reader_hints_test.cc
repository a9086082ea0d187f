// Recorded accesses of libraries that load models and tables: how many round trips and bytes they cost.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/reader.h"
#include "test/reader/read_outcome.h"
#include "test/support/fake_object_store.h"
#include "test/support/file_formats.h"
#include "test/support/status_matchers.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using testing::FakeObject;
using testing::FakeObjectStore;
using testing::FakeRequest;
using testing::ReadOutcome;
using testing::SafetensorsEntry;
using testing::SafetensorsHead;
using testing::VirtualTime;
using testing::ZipEnd;

constexpr uint64_t kKiB = 1 << 10;
constexpr uint64_t kMiB = 1 << 20;

/// A reader over a store that needs 30 ms for each answer, and objects that are partly written by a test.
class ReaderHintsTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kLatency = absl::Milliseconds(30);

  ReaderHintsTest() {
    store_.SetLatency([](const FakeRequest&) { return kLatency; });
    store_.SetContent([this](absl::string_view key, uint64_t offset, absl::Span<char> out) {
      testing::FakeContent(key, offset, out);
      for (const auto& [begin, bytes] : written_[std::string(key)]) Overlay(begin, bytes, offset, out);
    });
  }
  ~ReaderHintsTest() override { time_.RunUntilIdle(); }

  std::unique_ptr<Reader> MakeReader(uint64_t memory, Caching caching = Caching::kOn) {
    return std::make_unique<Reader>(
        store_, time_, metrics_,
        ReaderSettings{.bucket_url = "oss://b", .caching = caching, .memory_bytes = memory});
  }
  static void Overlay(uint64_t begin, const std::string& bytes, uint64_t offset, absl::Span<char> out) {
    const uint64_t first = std::max(begin, offset);
    const uint64_t last = std::min(begin + bytes.size(), offset + out.size());
    if (first < last)
      std::memcpy(out.data() + (first - offset), bytes.data() + (first - begin), last - first);
  }
  ObjectId Put(const std::string& key, uint64_t size, std::map<uint64_t, std::string> written = {}) {
    store_.Put(key, FakeObject{.etag = "E", .size = size});
    written_[key] = std::move(written);
    return {key, "E", size};
  }
  /// Reads as the kernel does: whole pages. Waits for the answer.
  void Read(const ObjectId& object, uint64_t offset, uint64_t length) {
    const uint64_t begin = offset / 4096 * 4096;
    const ReadOutcome read(*reader_, object,
                           {begin, std::min(object.size, (offset + length + 4095) / 4096 * 4096)});
    while (!read.done()) ASSERT_TRUE(time_.RunOne());
    ASSERT_OK(read.status());
  }
  struct Cost {
    int round_trips;
    uint64_t requests;
    uint64_t bytes;
  };
  template <typename Work>
  Cost CostOf(Work work) {
    const absl::Duration begin = time_.Elapsed();
    store_.ForgetRequests();
    bytes_ = 0;
    const size_t before = store_.Count(FakeRequest::Op::kGet);
    store_.SetObserver([this](const FakeRequest& request) { bytes_ += request.get.range.size(); });
    work();
    const auto trips = static_cast<int>(absl::FDivDuration(time_.Elapsed() - begin, kLatency) + 0.5);
    time_.RunUntilIdle();
    return {trips, store_.Count(FakeRequest::Op::kGet) - before, bytes_};
  }
  /// What torch.load does before the first payload: the magic number, the directory from the end, and the
  /// first members.
  void OpenArchive(const ObjectId& object, uint64_t directory_bytes) {
    for (uint64_t i = 0; i < 4; ++i) Read(object, i, 1);
    Read(object, object.size - 64 * kKiB, 64 * kKiB);
    Read(object, object.size - directory_bytes, directory_bytes);
    Read(object, 64, 30);
    Read(object, 128, 20);
    Read(object, 4096, 256 * kKiB);
    Read(object, 2 * kMiB, kMiB);
  }

  VirtualTime time_;
  FakeObjectStore store_{time_};
  std::map<std::string, std::map<uint64_t, std::string>> written_;
  uint64_t bytes_ = 0;
  ReadMetrics metrics_;
  std::unique_ptr<Reader> reader_ = MakeReader(512 * kMiB);
};

constexpr uint64_t kArchiveBytes = 300 * kMiB;

TEST_F(ReaderHintsTest, TorchLoadNeedsTwoRoundTripsToItsFirstPayload) {
  std::vector<uint64_t> members;
  for (uint64_t i = 0; i < 8000; ++i) members.push_back(i * 30 * kKiB);
  const uint64_t directory = ZipEnd(0, members).size();
  ASSERT_GT(directory, 500 * kKiB);
  const std::string end = ZipEnd(kArchiveBytes - directory, members);
  const ObjectId archive = Put("model.pt", kArchiveBytes, {{0, "PK\3\4"}, {kArchiveBytes - directory, end}});
  const Cost cost = CostOf([&] { OpenArchive(archive, directory); });
  EXPECT_LE(cost.round_trips, 2);
  EXPECT_LE(cost.bytes, 20 * kMiB) << "head, directory, and the first window behind the head";
}

TEST_F(ReaderHintsTest, ADirectoryLargerThanTheTailIsFetchedAheadToo) {
  std::vector<uint64_t> members;
  for (uint64_t i = 0; i < 40'000; ++i) members.push_back(i * 4 * kKiB);
  const uint64_t directory = ZipEnd(0, members).size();
  ASSERT_GT(directory, 2 * kMiB);
  const std::string end = ZipEnd(kArchiveBytes - directory, members);
  const ObjectId archive = Put("model.zip", kArchiveBytes, {{0, "PK\3\4"}, {kArchiveBytes - directory, end}});
  Read(archive, 0, 4);
  Read(archive, archive.size - 22, 22);
  Read(archive, 2 * kMiB, 4096);  // Anything: what the end told is used by the next read.
  const Cost cost = CostOf([&] {
    for (uint64_t at = archive.size - directory; at < archive.size; at += 64 * kKiB)
      Read(archive, at, 64 * kKiB);
  });
  EXPECT_LE(cost.round_trips, 1);
}

// Neither more requests nor more bytes than for a file whose name says nothing.
TEST_F(ReaderHintsTest, AFileThatIsNotWhatItsNameSaysCostsWhatAnyFileCosts) {
  Cost plain{};
  for (const char* key : {"plain.dat", "model.pt", "model.safetensors", "model.parquet"}) {
    const ObjectId object = Put(key, kArchiveBytes);
    const Cost cost = CostOf([&] {
      OpenArchive(object, 300 * kKiB);
      for (uint64_t at = 100 * kMiB; at < 110 * kMiB; at += 128 * kKiB) Read(object, at, 128 * kKiB);
    });
    if (plain.requests == 0) plain = cost;
    EXPECT_EQ(cost.requests, plain.requests) << key;
    EXPECT_EQ(cost.bytes, plain.bytes) << key;
    EXPECT_EQ(cost.round_trips, plain.round_trips) << key;
  }
}

// A member is fetched at its first touch, as far as it goes.
TEST_F(ReaderHintsTest, AMemberOfAnArchiveIsFetchedAtOnceAndNothingBeyondIt) {
  const std::vector<uint64_t> members = {0, 100 * kMiB, 105 * kMiB, 200 * kMiB};
  const uint64_t directory = ZipEnd(0, members).size();
  const std::string end = ZipEnd(kArchiveBytes - directory, members);
  const ObjectId archive = Put("model.npz", kArchiveBytes, {{0, "PK\3\4"}, {kArchiveBytes - directory, end}});
  Read(archive, archive.size - 64 * kKiB, 64 * kKiB);
  time_.RunUntilIdle();
  const Cost cost = CostOf([&] {
    for (uint64_t at = 100 * kMiB; at < 105 * kMiB; at += 128 * kKiB) Read(archive, at, 128 * kKiB);
  });
  EXPECT_LE(cost.round_trips, 1);
  EXPECT_EQ(cost.bytes, 5 * kMiB);
}

TEST_F(ReaderHintsTest, ALongHeaderOfAModelIsFetchedWithItsLength) {
  std::string json = "{" + SafetensorsEntry("a", 0, 5 * kMiB) + std::string(6 * kMiB, ' ') + "}";
  const std::string head = SafetensorsHead(json);
  const ObjectId model = Put("model.safetensors", kArchiveBytes, {{0, head}});
  const Cost cost = CostOf([&] {
    Read(model, 0, 8);
    for (uint64_t at = 0; at < head.size(); at += 128 * kKiB) Read(model, at, 128 * kKiB);
  });
  EXPECT_LE(cost.round_trips, 2);
}

TEST_F(ReaderHintsTest, WithoutFetchingAheadAFormatTellsNothing) {
  reader_ = MakeReader(512 * kMiB, Caching::kOff);
  const std::string head = SafetensorsHead("{" + std::string(2 * kMiB, ' ') + "}");
  const ObjectId model = Put("model.safetensors", kArchiveBytes, {{0, head}});
  const ObjectId archive = Put("model.pt", kArchiveBytes, {{0, "PK\3\4"}});
  const Cost cost = CostOf([&] {
    for (const ObjectId& object : {model, archive}) {
      Read(object, 0, 8);
      Read(object, 50 * kMiB, 4096);
    }
  });
  EXPECT_EQ(cost.requests, 4u);
  EXPECT_EQ(cost.bytes, 4 * 64 * kKiB);
}

TEST_F(ReaderHintsTest, TheFooterOfATableComesWithItsEnd) {
  std::string last("\0\0\x20\0PAR1", 8);  // A footer of 2 MiB.
  const uint64_t footer = 2 * kMiB + 8;
  const ObjectId table = Put("t.parquet", kArchiveBytes, {{kArchiveBytes - 8, last}});
  const Cost cost = CostOf([&] {
    Read(table, table.size - 64 * kKiB, 64 * kKiB);
    for (uint64_t at = table.size - footer; at < table.size; at += 128 * kKiB) Read(table, at, 128 * kKiB);
  });
  EXPECT_LE(cost.round_trips, 2);
  EXPECT_LE(cost.bytes, footer + 256 * kKiB);
}

/// Tensors of several sizes, and a reader that takes them in an order of its own through a mapping.
class TensorOrderTest : public ReaderHintsTest {
 protected:
  static constexpr uint64_t kTensors = 100;

  TensorOrderTest() {
    std::mt19937_64 random(3);
    std::string json = "{\"__metadata__\":{\"format\":\"pt\"}";
    uint64_t position = 0;
    for (uint64_t i = 0; i < kTensors; ++i) {
      const uint64_t bytes = kMiB + random() % (3 * kMiB);
      tensors_.push_back({position, position + bytes});
      json += "," + SafetensorsEntry("t" + std::to_string(i), position, position + bytes);
      position += bytes;
    }
    head_ = SafetensorsHead(json + "}");
    for (ByteRange& tensor : tensors_) tensor = {tensor.begin + head_.size(), tensor.end + head_.size()};
    std::shuffle(tensors_.begin(), tensors_.end(), random);
  }
  ObjectId PutModel(const std::string& key) {
    uint64_t size = 0;
    for (const ByteRange& tensor : tensors_) size = std::max(size, tensor.end);
    return Put(key, size, {{0, head_}});
  }
  /// Page faults: what is in the page cache is not asked for, and what is asked for stays there.
  void Map(const ObjectId& object, ByteRange range, std::vector<bool>& cached) {
    constexpr uint64_t kReadAhead = 128 * kKiB;
    cached.resize(object.size / kReadAhead + 1);
    for (uint64_t at = range.begin / kReadAhead; at * kReadAhead < range.end; ++at) {
      if (cached[at]) continue;
      cached[at] = true;
      Read(object, at * kReadAhead, kReadAhead);
    }
  }
  void Load(const ObjectId& object) {
    std::vector<bool> cached;
    Map(object, {0, head_.size()}, cached);
    for (const ByteRange& tensor : tensors_) Map(object, tensor, cached);
  }

  std::string head_;
  std::vector<ByteRange> tensors_;
};

// Of what a mapping touches in one tensor nothing beyond the tensor is fetched.
TEST_F(TensorOrderTest, ATensorIsFetchedAtOnceAndNothingBeyondIt) {
  const ObjectId model = PutModel("model.safetensors");
  Read(model, 0, 8);
  Read(model, 8, head_.size());
  time_.RunUntilIdle();
  const ByteRange tensor = *std::max_element(tensors_.begin(), tensors_.end(),
                                             [](ByteRange a, ByteRange b) { return a.begin < b.begin; });
  const Cost cost = CostOf([&] {
    for (uint64_t at = tensor.begin; at < tensor.end; at += 128 * kKiB)
      Read(model, at, std::min(128 * kKiB, tensor.end - at));
  });
  EXPECT_LE(cost.round_trips, 1);
  EXPECT_LE(cost.bytes, tensor.size() + 2 * 128 * kKiB);
}

TEST_F(TensorOrderTest, AModelThatFitsIsFetchedOnce) {
  const ObjectId model = PutModel("model.safetensors");
  const Cost cost = CostOf([&] { Load(model); });
  EXPECT_LE(static_cast<double>(cost.bytes), 1.01 * static_cast<double>(model.size));
  EXPECT_LE(cost.round_trips, 30) << "for a hundred tensors";
}

// Nothing that the kernel has is fetched again, however little fits.
TEST_F(TensorOrderTest, AModelOfWhichAThirdFitsIsFetchedOnce) {
  for (const char* key : {"model.safetensors", "model.dat"}) {
    reader_ = MakeReader(96 * kMiB);
    const ObjectId model = PutModel(key);
    const Cost cost = CostOf([&] { Load(model); });
    EXPECT_LE(static_cast<double>(cost.bytes), 1.05 * static_cast<double>(model.size)) << key;
    EXPECT_LE(cost.round_trips, 130) << key;
  }
}

}  // namespace
}  // namespace bucketvol
