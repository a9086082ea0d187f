#include "mounter/index/run_spill.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kPlenty = 1 << 30;

// The descriptor of the unnamed file that lies in `directory`.
int FindFile(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.rfind(directory + "/", 0) == 0) return std::stoi(entry.path().filename().string());
  }
  return -1;
}

std::string Text(int number, size_t bytes) {
  return std::string(bytes, static_cast<char>('a' + number % 26));
}

class SpillFileTest : public ::testing::Test {
 protected:
  uint64_t FileBytes() const {
    struct stat info = {};
    EXPECT_EQ(fstat(FindFile(directory_.path()), &info), 0);
    return static_cast<uint64_t>(info.st_size);
  }

  TempDir directory_;
  std::string out_;
};

TEST_F(SpillFileTest, PiecesOfSeveralWritersComeBack) {
  SpillFile file(directory_.path(), kPlenty);
  SpillFile::Writer writers[3];
  std::vector<SpillFile::Piece> pieces;
  for (int i = 0; i < 300; ++i) {
    ASSERT_OK_AND_ASSIGN(pieces.emplace_back(), file.Write(writers[i % 3], Text(i, 1000 + 777 * i)));
  }
  for (int i = 299; i >= 0; --i) {
    ASSERT_OK(file.Read(pieces[i], out_));
    EXPECT_EQ(out_, Text(i, 1000 + 777 * i));
  }
}

TEST_F(SpillFileTest, PieceLargerThanAnExtent) {
  SpillFile file(directory_.path(), kPlenty);
  SpillFile::Writer writer;
  ASSERT_OK_AND_ASSIGN(const SpillFile::Piece large, file.Write(writer, Text(1, 3'000'000)));
  ASSERT_OK_AND_ASSIGN(const SpillFile::Piece small, file.Write(writer, Text(2, 10)));
  ASSERT_OK(file.Read(large, out_));
  EXPECT_EQ(out_, Text(1, 3'000'000));
  ASSERT_OK(file.Read(small, out_));
  EXPECT_EQ(out_, Text(2, 10));
}

TEST_F(SpillFileTest, RoomOfPiecesReadIsUsedAgain) {
  SpillFile file(directory_.path(), kPlenty);
  for (int round = 0; round < 50; ++round) {
    SpillFile::Writer writer;
    std::vector<SpillFile::Piece> pieces;
    for (int i = 0; i < 40; ++i) {
      ASSERT_OK_AND_ASSIGN(pieces.emplace_back(), file.Write(writer, Text(i, 40'000)));
    }
    for (const SpillFile::Piece& piece : pieces) ASSERT_OK(file.Read(piece, out_));
    file.Close(writer);
  }
  EXPECT_LE(FileBytes(), 3u << 20);
}

TEST_F(SpillFileTest, FullAtItsLimitUntilRoomIsFree) {
  SpillFile file(directory_.path(), 1 << 20);
  SpillFile::Writer writer;
  std::vector<SpillFile::Piece> pieces;
  EXPECT_FALSE(file.full());
  while (!file.full()) {
    ASSERT_OK_AND_ASSIGN(pieces.emplace_back(), file.Write(writer, Text(0, 100'000)));
  }
  for (const SpillFile::Piece& piece : pieces) ASSERT_OK(file.Read(piece, out_));
  EXPECT_FALSE(file.full());
}

TEST_F(SpillFileTest, NoDirectoryMeansNoRoom) { EXPECT_TRUE(SpillFile("", kPlenty).full()); }

TEST_F(SpillFileTest, ChangedBytesAreNoticed) {
  SpillFile file(directory_.path(), kPlenty);
  SpillFile::Writer writer;
  ASSERT_OK_AND_ASSIGN(const SpillFile::Piece piece, file.Write(writer, Text(0, 1000)));
  ASSERT_EQ(pwrite(FindFile(directory_.path()), "X", 1, 500), 1);
  EXPECT_THAT(file.Read(piece, out_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(directory_.path())));
}

TEST_F(SpillFileTest, FileHasNoNameAndIsPrivate) {
  SpillFile file(directory_.path(), kPlenty);
  SpillFile::Writer writer;
  ASSERT_OK(file.Write(writer, "secret keys"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  struct stat info = {};
  const int fd = FindFile(directory_.path());
  ASSERT_EQ(fstat(fd, &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u);
  EXPECT_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

// /dev/full answers every write as a full disk does; a file system that is full cannot be had without
// privileges.
TEST_F(SpillFileTest, FullDiskIsAClearError) {
  SpillFile file(directory_.path(), kPlenty);
  SpillFile::Writer writer;
  ASSERT_OK(file.Write(writer, "first"));
  const int full = open("/dev/full", O_RDWR | O_CLOEXEC);
  ASSERT_GE(dup2(full, FindFile(directory_.path())), 0);
  close(full);
  EXPECT_THAT(file.Write(writer, "second"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       ::testing::AllOf(HasSubstr(directory_.path()), HasSubstr("No space left"))));
}

}  // namespace
}  // namespace bucketvol::testing
