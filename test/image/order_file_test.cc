#include "mounter/image/order_file.h"

#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/base/coding.h"
#include "mounter/base/crc.h"
#include "test/image/built_index.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr OrderSubject kSubject{.rows = 1000, .checksum = 7};

class OrderFileTest : public ::testing::Test {
 protected:
  OrderFile Create() {
    auto file = OrderFile::Create(directory_.path(), kSubject);
    EXPECT_OK(file);
    return *std::move(file);
  }
  absl::StatusOr<StoredOrder> Read(const OrderSubject& subject = kSubject, uint64_t most = 1000) const {
    return ReadOrder(directory_.path(), subject, most);
  }
  std::string Bytes() const {
    std::ifstream in(directory_ / kOrderName, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Overwrite(const std::string& bytes) const {
    std::ofstream(directory_ / kOrderName, std::ios::binary) << bytes;
  }

  testing::TempDir directory_;
};

TEST_F(OrderFileTest, WhatWasCommittedIsRead) {
  OrderFile file = Create();
  ASSERT_OK(file.Append({3, 1, 999}));
  EXPECT_TRUE(absl::IsNotFound(Read().status())) << "not before";
  ASSERT_OK(file.Commit(/*open=*/true));
  EXPECT_THAT(Read()->rows, ElementsAre(3, 1, 999));
  EXPECT_TRUE(Read()->open);
}

TEST_F(OrderFileTest, GrowsUnderItsName) {
  OrderFile file = Create();
  ASSERT_OK(file.Append({3}));
  ASSERT_OK(file.Commit(/*open=*/true));
  ASSERT_OK(file.Append({1, 2}));
  EXPECT_THAT(Read()->rows, ElementsAre(3));
  ASSERT_OK(file.Commit(/*open=*/false));
  EXPECT_THAT(Read()->rows, ElementsAre(3, 1, 2));
  EXPECT_FALSE(Read()->open);
}

TEST_F(OrderFileTest, HasTheBytesOfTheFormat) {
  OrderFile file = Create();
  ASSERT_OK(file.Append({3, 0x102}));
  ASSERT_OK(file.Commit(/*open=*/true));
  const std::string bytes = Bytes();
  ASSERT_EQ(bytes.size(), 64u + 2 * 4);
  EXPECT_EQ(bytes.substr(0, 12), std::string("BVORDER\n\1\0\0\0", 12));
  EXPECT_EQ(bytes.substr(16, 12), std::string("\xE8\3\0\0\0\0\0\0\7\0\0\0", 12));
  EXPECT_EQ(bytes.substr(28, 9), std::string("\1\2\0\0\0\0\0\0\0", 9));
  EXPECT_EQ(LoadLittle<uint32_t>(&bytes[37]), Crc32c(0, bytes.substr(64)));
  EXPECT_EQ(bytes.substr(41, 23), std::string(23, '\0'));
  EXPECT_EQ(bytes.substr(64), std::string("\3\0\0\0\2\1\0\0", 8));
}

TEST_F(OrderFileTest, TakesThePlaceOfAnother) {
  OrderFile old_file = Create();
  ASSERT_OK(old_file.Append({1, 2, 3}));
  ASSERT_OK(old_file.Commit(/*open=*/true));
  OrderFile file = Create();
  ASSERT_OK(file.Append({9}));
  ASSERT_OK(file.Commit(/*open=*/true));
  ASSERT_OK(old_file.Append({4}));
  ASSERT_OK(old_file.Commit(/*open=*/true));
  EXPECT_THAT(Read()->rows, ElementsAre(9));
}

TEST_F(OrderFileTest, ManyRowsAreReadUpToALimit) {
  OrderFile file = Create();
  std::vector<uint32_t> rows(1000);
  for (uint32_t i = 0; i < 1000; ++i) rows[i] = 999 - i;
  ASSERT_OK(file.Append(rows));
  ASSERT_OK(file.Commit(/*open=*/false));
  EXPECT_EQ(Read()->rows, rows);
  EXPECT_THAT(Read(kSubject, 2)->rows, ElementsAre(999, 998));
}

TEST_F(OrderFileTest, AnotherListingHasNoOrder) {
  OrderFile file = Create();
  ASSERT_OK(file.Append({1}));
  ASSERT_OK(file.Commit(/*open=*/false));
  EXPECT_TRUE(absl::IsNotFound(Read({.rows = 1000, .checksum = 8}).status()));
  EXPECT_TRUE(absl::IsNotFound(Read({.rows = 1001, .checksum = 7}).status()));
}

TEST_F(OrderFileTest, NoDamagedByteIsBelieved) {
  OrderFile file = Create();
  ASSERT_OK(file.Append({1, 2, 3}));
  ASSERT_OK(file.Commit(/*open=*/false));
  const std::string good = Bytes();
  constexpr size_t kPaddingBegin = 41, kPaddingEnd = 64;  // Between the head and the rows.
  for (size_t at = 0; at < good.size(); ++at) {
    if (at >= kPaddingBegin && at < kPaddingEnd) continue;
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    Overwrite(bytes);
    EXPECT_FALSE(Read().ok()) << at;
  }
  for (size_t length = 0; length < good.size(); ++length) {
    Overwrite(good.substr(0, length));
    EXPECT_FALSE(Read().ok()) << length;
  }
  Overwrite(good);
  EXPECT_OK(Read());
}

TEST_F(OrderFileTest, NoRowThatTheTableDoesNotHave) {
  OrderFile file = Create();
  ASSERT_OK(file.Append({1000}));
  ASSERT_OK(file.Commit(/*open=*/false));
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
}

TEST(OrderSubject, IsThatOfTheListing) {
  testing::VirtualTime time;
  testing::FakeObjectStore store(time);
  const std::map<std::string, uint64_t> sizes = {{"a", 10}, {"b", 20}, {"c", 30}};
  const testing::BuiltIndex index(store, sizes);
  const testing::BuiltIndex same(store, sizes);
  const testing::BuiltIndex longer(store, {{"a", 10}, {"b", 20}, {"c", 31}});
  const testing::BuiltIndex other(store, {{"a", 10}, {"b", 20}, {"d", 30}});
  const auto subject = OrderSubject::Of(index.table());
  ASSERT_OK(subject);
  EXPECT_EQ(*OrderSubject::Of(same.table()), *subject);
  EXPECT_NE(OrderSubject::Of(longer.table())->checksum, subject->checksum);
  EXPECT_NE(OrderSubject::Of(other.table())->checksum, subject->checksum);
}

}  // namespace
}  // namespace bucketvol
