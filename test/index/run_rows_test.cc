#include "mounter/index/run_rows.h"

#include <random>
#include <string>
#include <vector>

#include "test/support/fake_listing.h"
#include "test/support/status_matchers.h"

namespace bucketvol::testing {
namespace {

using ::testing::SizeIs;

void ExpectSame(const ListedObject& a, const ListedObject& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.etag, b.etag);
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.modified_ms, b.modified_ms);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.archived, b.archived);
}

void ExpectComesBack(const std::vector<ListedObject>& objects) {
  std::string rows;
  PackRows(objects, rows);
  RowReader reader;
  ASSERT_OK(reader.Read(rows, objects.size()));
  ASSERT_THAT(reader.objects(), SizeIs(objects.size()));
  for (size_t i = 0; i < objects.size(); ++i) ExpectSame(reader.objects()[i], objects[i]);
}

ListedObject Object(absl::string_view key, absl::string_view etag) {
  return {.key = key, .etag = etag, .size = 1, .modified_ms = 1'700'000'000'000};
}

TEST(RunRowsTest, NothingComesBackAsNothing) { ExpectComesBack({}); }

TEST(RunRowsTest, EveryFormOfETagComesBackAsItWas) {
  ExpectComesBack(
      {Object("a", ""), Object("b", "5B3C1A2E053D763E1B002CC607C5A0FE"),
       Object("c", "5b3c1a2e053d763e1b002cc607c5a0fe"), Object("d", "5b3c1a2e053d763e1b002cc607c5a0fe-123"),
       Object("e", "5b3C1a2e053d763e1b002cc607c5a0fe"), Object("f", "12345678901234567890123456789012"),
       Object("g", "5B3C1A2E053D763E1B002CC607C5A0F"), Object("h", "5B3C1A2E053D763E1B002CC607C5A0FG"),
       Object("i", std::string(300, 'x'))});
}

TEST(RunRowsTest, ExtremeValuesComeBack) {
  std::vector<ListedObject> objects = {Object("", ""), Object(std::string(1024, '\xff'), ""),
                                       Object(absl::string_view("a\0b", 3), "")};
  const std::string long_key(1024, 'k');
  objects[1].key = long_key;
  objects[0].size = ~uint64_t{0};
  objects[0].modified_ms = INT64_MIN;
  objects[1].modified_ms = INT64_MAX;
  objects[2].modified_ms = -1;
  objects[2].kind = ListedObject::Kind::kSymlink;
  objects[1].archived = true;
  ExpectComesBack(objects);
}

TEST(RunRowsTest, TextOfAWholePageStaysWhereItIs) {
  // More text than one block holds, so that views into earlier blocks are put to the test.
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back(std::string(900, 'x') + std::to_string(100'000 + i));
  std::vector<ListedObject> objects;
  for (const std::string& key : keys) objects.push_back(Object(key, "5B3C1A2E053D763E1B002CC607C5A0FE"));
  ExpectComesBack(objects);
}

TEST(RunRowsTest, SortedKeysTakeLittleRoom) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i)
    keys.push_back("data/train/imagenet-sample_" + std::to_string(100'000 + i) + ".jpg");
  std::vector<ListedObject> objects;
  for (const std::string& key : keys) objects.push_back(Object(key, "5B3C1A2E053D763E1B002CC607C5A0FE"));
  std::string rows;
  PackRows(objects, rows);
  EXPECT_LE(rows.size(), 32u * 1000);
}

TEST(RunRowsTest, DamagedRowsAreAnErrorNotACrash) {
  std::vector<std::string> keys;
  for (int i = 0; i < 20; ++i) keys.push_back("key/" + std::to_string(1000 + i));
  std::vector<ListedObject> objects;
  for (const std::string& key : keys) objects.push_back(Object(key, "5B3C1A2E053D763E1B002CC607C5A0FE-2"));
  std::string rows;
  PackRows(objects, rows);
  RowReader reader;
  for (size_t size = 0; size < rows.size(); ++size) {
    EXPECT_THAT(reader.Read(rows.substr(0, size), 20), StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
  }
  EXPECT_FALSE(reader.Read(rows, 19).ok());
  EXPECT_FALSE(reader.Read(rows, 21).ok());
  std::mt19937 random(1);
  for (int i = 0; i < 10'000; ++i) {
    std::string damaged = rows;
    for (int j = 0; j < 3; ++j) damaged[random() % damaged.size()] = static_cast<char>(random());
    reader.Read(damaged, 20).IgnoreError();
  }
  ASSERT_OK(reader.Read(rows, 20));
}

}  // namespace
}  // namespace bucketvol::testing
