#include "mounter/cli/mount_point.h"

#include <unistd.h>

#include "mounter/base/file.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::StatusIs;
using ::bucketvol::testing::TempDir;
using ::testing::HasSubstr;

TEST(MountPointTest, ResolvesLinksAndDots) {
  TempDir dir;
  ASSERT_OK(MakeDirectories(dir / "real"));
  ASSERT_EQ(symlink((dir / "real").c_str(), (dir / "link").c_str()), 0);
  EXPECT_EQ(ResolveMountPoint(dir / "link/../link/"), ResolveMountPoint(dir / "real"));
}

TEST(MountPointTest, WhatIsNotThereStaysAsWrittenButAbsolute) {
  EXPECT_EQ(ResolveMountPoint("/nonexistent/mnt//"), "/nonexistent/mnt");
  EXPECT_EQ(ResolveMountPoint("nonexistent/mnt").front(), '/');
}

TEST(MountPointTest, TakesDirectoriesOnly) {
  TempDir dir;
  EXPECT_OK(CheckMountPoint(dir.path()));
  ASSERT_OK(WriteFileAtomically(dir / "file", ""));
  EXPECT_THAT(CheckMountPoint(dir / "file"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a directory")));
  EXPECT_THAT(CheckMountPoint(dir / "nothing"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("does not exist")));
}

TEST(MountPointTest, EachGuardHasARunDirectoryOfItsOwn) {
  EXPECT_NE(NewRunDirectory("/run/bucketvol"), NewRunDirectory("/run/bucketvol"));
  EXPECT_THAT(NewRunDirectory("/run/bucketvol"), ::testing::MatchesRegex("/run/bucketvol/[0-9a-f]{16}"));
}

}  // namespace
}  // namespace bucketvol
