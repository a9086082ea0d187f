#include "mounter/base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::StatusIs;
using ::bucketvol::testing::TempDir;
using ::testing::HasSubstr;

TEST(FileTest, AtomicWriteReplacesTheWholeFileAndLeavesNoOther) {
  TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir / "f", "a long first version"));
  ASSERT_OK(WriteFileAtomically(dir / "f", "second"));
  ASSERT_OK_AND_ASSIGN(const std::string content, ReadWholeFile(dir / "f", 1000));
  EXPECT_EQ(content, "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(FileTest, ErrorsNameThePath) {
  EXPECT_THAT(OpenFile("/nonexistent/f", O_RDONLY),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nonexistent/f")));
}

TEST(FileTest, ReadExactlyRefusesAShortFile) {
  TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir / "f", "12345"));
  ASSERT_OK_AND_ASSIGN(UniqueFd fd, OpenFile(dir / "f", O_RDONLY));
  char buffer[4];
  EXPECT_OK(ReadExactlyAt(fd.get(), absl::MakeSpan(buffer), 1, "f"));
  EXPECT_EQ(std::string(buffer, 4), "2345");
  EXPECT_THAT(ReadExactlyAt(fd.get(), absl::MakeSpan(buffer), 2, "f"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("f")));
}

TEST(FileTest, ReadWholeFileHasALimit) {
  TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir / "f", std::string(100, 'x')));
  EXPECT_OK(ReadWholeFile(dir / "f", 100));
  EXPECT_THAT(ReadWholeFile(dir / "f", 99), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("99")));
}

TEST(FileTest, MakesDirectoriesThatAnotherRemovesMeanwhile) {
  const TempDir dir;
  const auto make_and_remove = [&] {
    for (int i = 0; i < 2000; ++i) {
      EXPECT_OK(MakeDirectories(dir / "a/b"));
      rmdir((dir / "a/b").c_str());
      rmdir((dir / "a").c_str());
    }
  };
  std::thread another(make_and_remove);
  make_and_remove();
  another.join();
}

TEST(FileTest, MakesMissingParents) {
  TempDir dir;
  ASSERT_OK(MakeDirectories(dir / "a/b/c"));
  ASSERT_OK(MakeDirectories(dir / "a/b/c"));
  ASSERT_OK(WriteFileAtomically(dir / "a/file", ""));
  EXPECT_THAT(MakeDirectories(dir / "a/file"), ::testing::Not(::bucketvol::testing::IsOk()));
}

}  // namespace
}  // namespace bucketvol
