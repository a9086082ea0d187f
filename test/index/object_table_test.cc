#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "mounter/base/file.h"
#include "mounter/index/address_space.h"
#include "mounter/index/index_file.h"
#include "mounter/index/object_table_format.h"
#include "mounter/index/object_table_writer.h"
#include "test/index/index_fixture.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr uint64_t kMib = 1 << 20;
constexpr uint64_t kBlock = kIndexBlockBytes;

TestObject Object(int i) {
  return {absl::StrFormat("p/dir-%03d/training-sample_%06d_%08x.jpg", i / 50, i, i * 0x9E3779B1u),
          static_cast<uint64_t>(1 + i * 37 % 20'000), 0, absl::StrFormat("%032x", i), false};
}

class ObjectTableTest : public ::testing::Test {
 protected:
  // Every object on the device that `device_of` tells.
  template <typename DeviceOf>
  void Write(int objects, DeviceOf device_of) {
    ASSERT_OK_AND_ASSIGN(StagedFile file, StagedFile::Create(directory_.path(), kTableName));
    ObjectTableWriter writer(std::move(file), directory_.path(), "p/");
    for (int i = 0; i < objects; ++i) {
      const TestObject object = Object(i);
      ASSERT_OK(writer.Add(object.key.substr(2), object.etag, object.size, device_of(i)));
    }
    ASSERT_OK(writer.Finish());
    ASSERT_OK(writer.WriteHeader("0123456789abcdef"));
    EXPECT_EQ(writer.rows(), static_cast<uint64_t>(objects));
    bytes_ = writer.bytes();
    ASSERT_OK(PublishFiles(directory_.path(), {&writer.file()}));
  }
  void Write(int objects) {
    Write(objects, [](int i) { return static_cast<uint32_t>(i % 3); });
  }

  std::string path() const { return directory_ / kTableName; }
  std::unique_ptr<ObjectTable> Open() {
    auto table = ObjectTable::Open(path());
    EXPECT_OK(table);
    return table.ok() ? *std::move(table) : nullptr;
  }
  std::string Contents() const {
    std::ifstream file(path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  const TempDir directory_;
  uint64_t bytes_ = 0;
};

TEST_F(ObjectTableTest, AnEmptyTableFindsNothing) {
  Write(0);
  const auto table = Open();
  EXPECT_EQ(table->rows(), 0u);
  EXPECT_EQ(table->build_id(), "0123456789abcdef");
  ASSERT_OK_AND_ASSIGN(const auto found, table->Find(0, 0));
  EXPECT_FALSE(found.has_value());
  EXPECT_THAT(table->At(0), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("no row 0")));
}

TEST_F(ObjectTableTest, EveryByteOfEveryObjectLeadsToIt) {
  for (const int objects : {1, 63, 64, 65, 128, 1000}) {
    Write(objects);
    const auto table = Open();
    ASSERT_EQ(table->rows(), static_cast<uint64_t>(objects));
    uint64_t cursor[3] = {kMib, kMib, kMib};
    for (int i = 0; i < objects; ++i) {
      const TestObject object = Object(i);
      const auto device = static_cast<uint32_t>(i % 3);
      for (const uint64_t offset :
           {cursor[device], cursor[device] + object.size / 2, cursor[device] + object.size - 1}) {
        ASSERT_OK_AND_ASSIGN(const auto found, table->Find(device, offset));
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(found->key, object.key);
        EXPECT_EQ(found->etag, object.etag);
        EXPECT_EQ(found->size, object.size);
        EXPECT_EQ(found->row, static_cast<uint64_t>(i));
        EXPECT_EQ(found->offset, cursor[device]);
        EXPECT_EQ(found->device, device);
      }
      cursor[device] += (object.size + kBlock - 1) / kBlock * kBlock;
    }
  }
}

TEST_F(ObjectTableTest, BytesOfNobodyLeadToTheNextObject) {
  Write(200);
  const auto table = Open();
  for (const uint64_t offset : {uint64_t{0}, kMib - 1}) {  // The zero head.
    ASSERT_OK_AND_ASSIGN(const auto first, table->Find(1, offset));
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->key, Object(1).key);
  }
  ASSERT_OK_AND_ASSIGN(const auto first, table->Find(1, kMib));
  ASSERT_TRUE(first.has_value());
  ASSERT_OK_AND_ASSIGN(const auto second,
                       table->Find(1, kMib + first->size));  // The rest of the first one's block.
  EXPECT_EQ(second->key, Object(4).key);
  ASSERT_OK_AND_ASSIGN(const ObjectExtent last, table->At(199));
  ASSERT_OK_AND_ASSIGN(const auto none, table->Find(last.device, last.offset + last.size));
  EXPECT_FALSE(none.has_value());
  ASSERT_OK_AND_ASSIGN(const auto far, table->Find(last.device, UINT64_MAX));
  EXPECT_FALSE(far.has_value());
  ASSERT_OK_AND_ASSIGN(const auto unknown, table->Find(3, 0));
  EXPECT_FALSE(unknown.has_value());
}

// 700 rows are eleven blocks: most of them know nothing of a device that has few objects.
TEST_F(ObjectTableTest, DevicesThatAppearLateOrRarely) {
  Write(700, [](int i) { return i == 5 ? 4u : i >= 690 ? 7u : 0u; });
  const auto table = Open();
  ASSERT_OK_AND_ASSIGN(const auto rare, table->Find(4, 0));
  EXPECT_EQ(rare->row, 5u);
  ASSERT_OK_AND_ASSIGN(const auto late, table->Find(7, 0));
  EXPECT_EQ(late->row, 690u);
  ASSERT_OK_AND_ASSIGN(const auto after, table->Find(4, rare->offset + rare->size));
  EXPECT_FALSE(after.has_value());
  ASSERT_OK_AND_ASSIGN(const auto unused, table->Find(6, 0));
  EXPECT_FALSE(unused.has_value());
}

TEST_F(ObjectTableTest, RealisticRowsAreSmall) {
  Write(20'000, [](int i) { return static_cast<uint32_t>(i % 8); });
  EXPECT_EQ(Contents().size(), bytes_);
  EXPECT_LT(bytes_, 45u * 20'000);
}

TEST_F(ObjectTableTest, ReadersOfManyBlocksAtOnceGetEachTheirs) {
  Write(20'000, [](int i) { return static_cast<uint32_t>(i % 8); });
  const auto table = Open();
  std::vector<std::thread> readers;
  for (unsigned seed = 0; seed < 4; ++seed) {
    readers.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 2000; ++i) {
        const uint64_t row = random() % 20'000;
        ASSERT_OK_AND_ASSIGN(const ObjectExtent extent, table->At(row));
        ASSERT_EQ(extent.key, Object(static_cast<int>(row)).key);
        ASSERT_OK_AND_ASSIGN(const auto found, table->Find(extent.device, extent.offset + extent.size - 1));
        ASSERT_EQ(found->row, row);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
}

// Through a mapping this would be a SIGBUS.
TEST_F(ObjectTableTest, AFileThatIsCutUnderItsReaderIsAnError) {
  Write(20'000);
  const auto table = Open();
  const auto untouched = Open();
  ASSERT_OK_AND_ASSIGN(const ObjectExtent last, table->At(19'999));
  ASSERT_EQ(truncate(path().c_str(), 4096), 0);
  const auto fails = StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path()));
  EXPECT_THAT(table->At(10'000), fails);
  EXPECT_THAT(untouched->Find(last.device, last.offset), fails);
  EXPECT_OK(table->At(19'998));  // Of a block that was read before.
}

TEST_F(ObjectTableTest, AnotherVersionIsToldApart) {
  Write(10);
  std::string bytes = Contents();
  bytes[8] = 2;
  ASSERT_OK(WriteFileAtomically(path(), bytes));
  EXPECT_THAT(ObjectTable::Open(path()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("version: 2")));
}

// Any damaged byte either shows as an error or belongs to a part that is not used.
TEST_F(ObjectTableTest, NoDamageGoesUnnoticed) {
  Write(300);
  const std::string good = Contents();
  const auto whole = Open();
  std::mt19937_64 random(7);
  for (int round = 0; round < 3'000; ++round) {
    std::string bytes = good;
    switch (round % 3) {
      case 0:
        bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
        break;
      case 1:
        bytes.resize(random() % bytes.size());
        break;
      default:
        bytes.insert(random() % bytes.size(), 1 + random() % 40, static_cast<char>(random()));
        break;
    }
    const std::string path_of_damaged = directory_ / absl::StrCat("damaged", round);
    std::ofstream(path_of_damaged, std::ios::binary) << bytes;
    const auto damaged = ObjectTable::Open(path_of_damaged);
    std::filesystem::remove(path_of_damaged);
    if (!damaged.ok()) continue;
    for (uint64_t row = 0; row < 300; row += 7) {
      const auto expected = whole->At(row);
      const auto at = (*damaged)->At(row);
      if (at.ok()) {
        EXPECT_EQ(at->key, expected->key);
      }
      const auto found = (*damaged)->Find(expected->device, expected->offset);
      if (found.ok()) {
        EXPECT_TRUE(found->has_value() && (*found)->key == expected->key);
      }
    }
  }
}

}  // namespace
}  // namespace bucketvol::testing
