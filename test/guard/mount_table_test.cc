#include "mounter/guard/mount_table.h"

#include <sys/sysmacros.h>

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

constexpr char kTable[] =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
    "40 22 7:3 / /mnt/with\\040blank\\134and\\012newline ro,nosuid,nodev - erofs /dev/loop3 ro\n"
    "41 22 7:4 / /mnt/a ro shared:5 master:2 - erofs /dev/loop4 ro\n"
    "nonsense\n"
    "42 41 7:5 / /mnt/a ro - erofs /dev/loop5 ro\n";

TEST(MountTableTest, ReadsFieldsWhateverStandsBetween) {
  const auto table = ParseMountInfo(kTable);
  ASSERT_EQ(table.size(), 4u);
  EXPECT_EQ(table[0].type, "ext4");
  EXPECT_EQ(table[2].id, 41u);
  EXPECT_EQ(table[2].device, makedev(7, 4));
  EXPECT_EQ(table[2].source, "/dev/loop4");
}

TEST(MountTableTest, UndoesEscapes) {
  EXPECT_EQ(ParseMountInfo(kTable)[1].mount_point, "/mnt/with blank\\and\nnewline");
}

TEST(MountTableTest, TheLastMountAtAPathIsOnTop) {
  const auto table = ParseMountInfo(kTable);
  EXPECT_EQ(TopMountAt(table, "/mnt/a")->id, 42u);
  EXPECT_FALSE(TopMountAt(table, "/mnt/b").has_value());
}

TEST(MountTableTest, FindsById) {
  const auto table = ParseMountInfo(kTable);
  EXPECT_EQ(MountWithId(table, 41)->source, "/dev/loop4");
  EXPECT_FALSE(MountWithId(table, 99).has_value());
}

TEST(MountTableTest, SeesTheRoot) { EXPECT_TRUE(TopMountAt(ReadMountTable(), "/").has_value()); }

}  // namespace
}  // namespace bucketvol
