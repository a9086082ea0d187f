#include "mounter/image/image_server.h"

#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/image/built_index.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using testing::BuiltIndex;
using testing::FakeObject;
using testing::FakeObjectStore;
using testing::FakeRequest;
using ::testing::HasSubstr;
using testing::VirtualTime;

std::map<std::string, uint64_t> SomeObjects() {
  std::map<std::string, uint64_t> sizes = {
      {"empty", 0}, {"one", 1}, {"block", 4096}, {"more", 4097}, {"big", 3'000'000}};
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i)
    sizes["d" + std::to_string(i % 7) + "/f" + std::to_string(i)] = random() % 30'000;
  return sizes;
}

/// Writes the answer down.
struct Answer {
  bool done = false;
  std::string bytes;
  absl::Status error;
};
class AnswerReply final : public ReadReply {
 public:
  explicit AnswerReply(Answer& answer) : answer_(answer) {}
  void SendData(absl::Span<const Piece> pieces) override {
    EXPECT_FALSE(answer_.done);
    answer_.done = true;
    for (const Piece& piece : pieces) answer_.bytes.append(piece.data(), piece.size());
  }
  void SendError(const absl::Status& status) override {
    EXPECT_FALSE(answer_.done);
    answer_.done = true;
    answer_.error = status;
  }

 private:
  Answer& answer_;
};

class ImageServerTest : public ::testing::Test {
 protected:
  ImageServerTest() { store_.ForgetRequests(); }

  Answer Read(FileId file, ByteRange range) {
    Answer answer;
    server_.Read(file, range, std::make_unique<AnswerReply>(answer));
    time_.RunUntilIdle();
    EXPECT_TRUE(answer.done);
    return answer;
  }
  /// A range of a device on which at least `objects` objects lie.
  std::pair<uint32_t, ByteRange> RangeOver(size_t objects) const {
    for (uint64_t row = 0; row < index_.table().rows(); ++row) {
      const ObjectExtent first = *index_.table().At(row);
      uint64_t end = first.offset;
      for (size_t i = 0; i < objects; ++i) {
        const std::optional<ObjectExtent> next = *index_.table().Find(first.device, end);
        if (!next.has_value()) break;
        end = next->offset + next->size;
        if (i + 1 == objects) return {first.device, {first.offset, end}};
      }
    }
    ADD_FAILURE() << "no device holds so many objects";
    return {};
  }

  VirtualTime time_;
  FakeObjectStore store_{time_};
  BuiltIndex index_{store_, SomeObjects()};
  ReadMetrics metrics_;
  Reader reader_{store_, time_, metrics_, ReaderSettings{.bucket_url = "oss://b"}};
  ImageServer server_{index_.table(), index_.manifest().devices, reader_, metrics_};
};

TEST_F(ImageServerTest, ShowsOneFilePerDevice) {
  const std::vector<ServedFile> files = server_.Files();
  ASSERT_EQ(files.size(), index_.manifest().devices.size());
  ASSERT_FALSE(files.empty());
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(files[i].name, "data" + std::to_string(i));
    EXPECT_EQ(files[i].size, index_.manifest().devices[i].blocks * kIndexBlockBytes);
  }
}

TEST_F(ImageServerTest, EveryDeviceReadsAsTheObjectsAtTheirPlacesAndZerosElsewhere) {
  constexpr uint64_t kStep = 1 << 20;
  for (FileId file = 0; file < server_.Files().size(); ++file) {
    const std::string expected = index_.Device(file);
    std::string read;
    for (uint64_t at = 0; at < expected.size(); at += kStep) {
      read += Read(file, {at, std::min(expected.size(), at + kStep)}).bytes;
    }
    EXPECT_TRUE(read == expected) << "device " << file;
  }
}

TEST_F(ImageServerTest, RandomRangesReadRight) {
  std::mt19937_64 random(3);
  std::vector<std::string> devices;
  for (FileId file = 0; file < server_.Files().size(); ++file) devices.push_back(index_.Device(file));
  for (int i = 0; i < 3'000; ++i) {
    const auto file = static_cast<FileId>(random() % devices.size());
    const uint64_t begin = random() % devices[file].size();
    const uint64_t end = std::min<uint64_t>(devices[file].size(), begin + 1 + random() % 100'000);
    ASSERT_TRUE(Read(file, {begin, end}).bytes == devices[file].substr(begin, end - begin))
        << "device " << file << " [" << begin << ", " << end << ")";
  }
}

TEST_F(ImageServerTest, HeadAndTailCostNoRequest) {
  for (FileId file = 0; file < server_.Files().size(); ++file) {
    EXPECT_EQ(Read(file, {0, 1 << 20}).bytes, std::string(1 << 20, '\0'));
    const uint64_t size = server_.Files()[file].size;
    EXPECT_EQ(Read(file, {size - 65'536, size}).bytes, std::string(65'536, '\0'));
  }
  EXPECT_EQ(store_.Count(FakeRequest::Op::kGet), 0u);
}

TEST_F(ImageServerTest, AllObjectsOfARangeAreAskedForAtOnce) {
  const auto [device, range] = RangeOver(5);
  store_.Hold();
  Answer answer;
  server_.Read(device, range, std::make_unique<AnswerReply>(answer));
  time_.RunUntilIdle();
  EXPECT_EQ(store_.Count(FakeRequest::Op::kGet), 5u);
  EXPECT_FALSE(answer.done);
  store_.Release();
  time_.RunUntilIdle();
  EXPECT_TRUE(answer.bytes == index_.Device(device).substr(range.begin, range.size()));
}

TEST_F(ImageServerTest, OneChangedObjectFailsTheReadsThatTouchItOnly) {
  const auto [device, range] = RangeOver(3);
  const ObjectExtent first = **index_.table().Find(device, range.begin);
  const ObjectExtent second = **index_.table().Find(device, first.offset + first.size);
  store_.Put(second.key, FakeObject{.etag = "another", .size = second.size});
  const Answer failed = Read(device, range);
  EXPECT_TRUE(absl::IsFailedPrecondition(failed.error));
  EXPECT_THAT(std::string(failed.error.message()), HasSubstr("oss://b/" + second.key));
  EXPECT_EQ(metrics_.errors, 1u);
  EXPECT_EQ(metrics_.stale_objects, 1u);
  const ByteRange intact{first.offset, first.offset + first.size};
  EXPECT_EQ(Read(device, intact).bytes, index_.Device(device).substr(intact.begin, intact.size()));
}

// The parts that were there stand where they came from, and not in what the kernel got.
TEST_F(ImageServerTest, OfARequestThatFailsThePartsAreCountedByOrigin) {
  const auto [device, range] = RangeOver(2);
  const ObjectExtent first = **index_.table().Find(device, range.begin);
  const ObjectExtent second = **index_.table().Find(device, first.offset + first.size);
  store_.Put(second.key, FakeObject{.etag = "another", .size = second.size});
  EXPECT_FALSE(Read(device, range).error.ok());
  EXPECT_EQ(metrics_.requests, 1u);
  EXPECT_EQ(metrics_.errors, 1u);
  EXPECT_EQ(metrics_.from_store, first.size);
  EXPECT_EQ(metrics_.bytes, 0u);
  EXPECT_EQ(metrics_.padding, 0u);
  EXPECT_FALSE(Read(device, range).error.ok());
  EXPECT_EQ(metrics_.from_memory, first.size);
  EXPECT_EQ(metrics_.bytes, 0u);
}

TEST_F(ImageServerTest, CountsWhatItServes) {
  const auto [device, range] = RangeOver(2);
  Read(device, range);
  Read(device, range);
  EXPECT_EQ(metrics_.requests, 2u);
  EXPECT_EQ(metrics_.bytes, 2 * range.size());
  EXPECT_EQ(metrics_.from_memory + metrics_.from_store + metrics_.padding, metrics_.bytes);
  EXPECT_EQ(metrics_.errors, 0u);
}

}  // namespace
}  // namespace bucketvol
