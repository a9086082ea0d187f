#include "mounter/sandbox/file_view.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "mounter/base/file.h"
#include "test/sandbox/shut_in.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

using testing::Ending;
using ::testing::HasSubstr;
using testing::InProcess;
using testing::TempDir;

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
std::string Read(const std::string& path) { return ReadWholeFile(path, 4096).value_or("cannot be read"); }
bool CanWrite(const std::string& path) { return OpenFile(path, O_WRONLY | O_CREAT).ok(); }

class FileViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::MayMount()) GTEST_SKIP() << "needs CAP_SYS_ADMIN";
    for (const char* name : {"state/index", "secrets", "other"})
      std::filesystem::create_directories(dir_ / name);
    Write(dir_ / "secrets/key", "old");
    Write(dir_ / "other/file", "not for the worker");
    settings_.writable_directories = {dir_ / "state/index"};
    settings_.readable_files = {dir_ / "secrets/key"};
  }

  /// Narrows the view in a process of its own; 0 when `holds` does.
  Ending Narrowed(const std::function<bool()>& holds) const {
    return InProcess([&] {
      const absl::Status status = NarrowFileView(settings_);
      if (!status.ok()) fprintf(stderr, "%s\n", status.ToString().c_str());
      return !status.ok() ? 2 : holds() ? 0 : 1;
    });
  }
  void ExpectHolds(const std::function<bool()>& holds) const {
    const Ending ending = Narrowed(holds);
    EXPECT_EQ(ending.exit_code, 0) << ending.errors;
  }

  TempDir dir_;
  SandboxSettings settings_;
};

TEST_F(FileViewTest, ShowsWhatWasAskedForAndNothingElse) {
  ExpectHolds([&] { return Read(dir_ / "secrets/key") == "old"; });
  ExpectHolds([&] { return !std::filesystem::exists(dir_ / "other"); });
  ExpectHolds([&] { return std::filesystem::exists(dir_ / "state/index"); });
  ExpectHolds([] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/")) names.insert(entry.path().filename());
    for (const char* name : {"root", "home", "boot", "opt", "srv", "mnt"}) {
      if (names.count(name) > 0) return false;
    }
    return names.count("etc") > 0;
  });
}

TEST_F(FileViewTest, OnlyWhatIsWritableIsWritten) {
  ExpectHolds([&] { return CanWrite(dir_ / "state/index/new"); });
  EXPECT_TRUE(std::filesystem::exists(dir_ / "state/index/new"));
  for (const std::string& path : {dir_ / "secrets/new", dir_ / "secrets/key", std::string("/new"),
                                  std::string("/etc/new"), dir_ / "state/new"}) {
    ExpectHolds([&] { return !CanWrite(path); });
  }
}

TEST_F(FileViewTest, AFileThatIsReplacedOutsideIsSeen) {
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready) + pipe(done), 0);
  std::filesystem::path key = dir_ / "secrets/key";
  const pid_t replacer = fork();
  if (replacer == 0) {
    char byte;
    if (read(ready[0], &byte, 1) != 1) _exit(1);
    Write(dir_ / "secrets/key.new", "new");
    std::filesystem::rename(dir_ / "secrets/key.new", key);
    _exit(write(done[1], "x", 1) == 1 ? 0 : 1);
  }
  ExpectHolds([&] {
    char byte = 'x';
    return Read(key) == "old" && write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1 &&
           Read(key) == "new";
  });
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) close(fd);
}

// As Kubernetes publishes secrets: a link to a link to a directory that is swapped.
TEST_F(FileViewTest, ALinkThatLeadsElsewhereIsFollowed) {
  std::filesystem::create_directories(dir_ / "elsewhere");
  Write(dir_ / "elsewhere/key", "linked");
  std::filesystem::create_symlink(dir_ / "elsewhere/key", dir_ / "secrets/link");
  settings_.readable_files = {dir_ / "secrets/link"};
  ExpectHolds([&] { return Read(dir_ / "secrets/link") == "linked"; });
}

TEST_F(FileViewTest, AWritableDirectoryInsideAReadableOneStaysWritable) {
  Write(dir_ / "key", "beside the state");
  settings_.readable_files = {dir_ / "key"};
  ExpectHolds([&] {
    return Read(dir_ / "key") == "beside the state" && CanWrite(dir_ / "state/index/new") &&
           !CanWrite(dir_ / "new");
  });
}

TEST_F(FileViewTest, SecretsOfTheSystemAreHidden) {
  if (!std::filesystem::exists("/etc/shadow")) GTEST_SKIP() << "no /etc/shadow here";
  ExpectHolds(
      [] { return std::filesystem::exists("/etc/shadow") && Read("/etc/shadow") != Read("/etc/passwd"); });
  ExpectHolds([] { return !OpenFile("/etc/shadow", O_RDONLY).ok() || Read("/etc/shadow").empty(); });
}

TEST_F(FileViewTest, WhatIsMissingIsLeftOutUnlessItMustBeWritten) {
  settings_.readable_directories = {"/no/such/place"};
  settings_.readable_files = {"/no/such/file"};
  ExpectHolds([] { return !std::filesystem::exists("/no"); });
  settings_.writable_directories = {"/no/such/state"};
  const Ending ending = Narrowed([] { return true; });
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_THAT(ending.errors, HasSubstr("/no/such/state"));
}

TEST_F(FileViewTest, OtherMountsAreNotKept) {
  ExpectHolds([] {
    std::ifstream mounts("/proc/self/mountinfo");
    int lines = 0;
    for (std::string line; std::getline(mounts, line);) {
      if (line.find(" - cgroup") != std::string::npos) return false;
      ++lines;
    }
    return lines > 0;
  });
}

}  // namespace
}  // namespace bucketvol
