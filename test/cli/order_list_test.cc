#include "mounter/cli/order_list.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/image/row_finder.h"
#include "test/image/built_index.h"
#include "test/support/status_matchers.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Cut(const std::vector<std::string>& pieces) {
  std::vector<std::string> lines;
  const auto take = [&](absl::string_view line) {
    lines.emplace_back(line);
    return absl::OkStatus();
  };
  LineCutter cutter;
  for (const std::string& piece : pieces) EXPECT_OK(cutter.Add(piece, take));
  EXPECT_OK(cutter.Finish(take));
  return lines;
}

TEST(LineCutter, CutsWhereverThePiecesEnd) {
  EXPECT_THAT(Cut({"a/b\nc d\r\n\n", "e", "f\n", "\r", "\ng"}), ElementsAre("a/b", "c d", "ef", "g"));
  EXPECT_THAT(Cut({}), ElementsAre());
}

TEST(LineCutter, CutsLinesThatAreLongerThanAnyKey) {
  const std::vector<std::string> lines = Cut({std::string(10'000, 'x'), "y\nz\n"});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], std::string(4096, 'x'));
  EXPECT_EQ(lines[1], "z");
}

TEST(RowFinder, FindsEveryObjectAndNoOther) {
  testing::VirtualTime time;
  testing::FakeObjectStore store(time);
  for (const size_t count : {1, 63, 64, 65, 1000}) {
    std::map<std::string, uint64_t> sizes;
    for (size_t i = 0; i < count; ++i) sizes[absl::StrCat("d", i % 7, "/\xC3\xA9", i)] = 100;
    const testing::BuiltIndex index(store, sizes);
    RowFinder finder(index.table());
    uint64_t row = 0;
    for (const auto& [key, size] : sizes) {
      const auto found = finder.Find(key);
      ASSERT_OK(found);
      EXPECT_EQ(*found, row++) << key;
      EXPECT_EQ(*finder.Find(key + "0x"), std::nullopt);
    }
    EXPECT_EQ(*finder.Find(""), std::nullopt);
    EXPECT_EQ(*finder.Find("z"), std::nullopt);
  }
}

}  // namespace
}  // namespace bucketvol
