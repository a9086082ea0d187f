#include "mounter/guard/open_here.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

class OpenHereTest : public ::testing::Test {
 protected:
  OpenHereTest() {
    std::ofstream(file_) << "image";
    theirs_ = UniqueFd(open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  }
  testing::TempDir dir_;
  const std::string file_ = dir_ / "image";
  UniqueFd theirs_;
};

TEST_F(OpenHereTest, OpensTheSameFileAnew) {
  auto ours = OpenHere(file_, theirs_);
  ASSERT_TRUE(ours.ok());
  char content[8];
  EXPECT_EQ(read(ours.value().get(), content, sizeof content), 5);
  EXPECT_EQ(lseek(theirs_.get(), 0, SEEK_CUR), 0);
  EXPECT_NE(fcntl(ours.value().get(), F_GETFL) & O_ACCMODE, O_RDWR);
}

TEST_F(OpenHereTest, RefusesAnotherFile) {
  std::ofstream(dir_ / "other") << "image";
  EXPECT_FALSE(OpenHere(dir_ / "other", theirs_).ok());
  EXPECT_FALSE(OpenHere(dir_ / "missing", theirs_).ok());
  std::filesystem::rename(dir_ / "other", file_);
  EXPECT_FALSE(OpenHere(file_, theirs_).ok());
}

TEST_F(OpenHereTest, RefusesWhatIsNoFile) {
  ASSERT_EQ(mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  const UniqueFd pipe(open((dir_ / "pipe").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(OpenHere(dir_ / "pipe", pipe).ok());
}

}  // namespace
}  // namespace bucketvol
