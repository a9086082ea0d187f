#include "mounter/guard/secret_pages.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <utility>

namespace bucketvol {
namespace {

const std::string kSecret = std::string(5'000, 's') + "end";

TEST(SecretPagesTest, HoldsItsBytes) {
  const SecretPages pages(kSecret);
  EXPECT_EQ(pages.bytes(), kSecret);
  EXPECT_EQ(SecretPages("").bytes(), "");
  EXPECT_EQ(SecretPages().bytes(), "");
}

TEST(SecretPagesTest, MovesWithoutACopy) {
  SecretPages pages(kSecret);
  const char* place = pages.bytes().data();
  SecretPages moved(std::move(pages));
  EXPECT_EQ(moved.bytes().data(), place);
  SecretPages assigned("old");
  assigned = std::move(moved);
  EXPECT_EQ(assigned.bytes(), kSecret);
}

// The flags of the mapping that `address` is in.
std::string FlagsOf(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) inside = begin <= wanted && wanted < end;
    if (inside && line.rfind("VmFlags:", 0) == 0) return line + " ";
  }
  return "";
}

TEST(SecretPagesTest, StaysOutOfCoreFilesAndChildren) {
  const SecretPages pages(kSecret);
  const std::string flags = FlagsOf(pages.bytes().data());
  EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;  // Not dumped.
  EXPECT_NE(flags.find(" dc "), std::string::npos) << flags;  // Not copied at a fork.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    _exit(pages.bytes()[0] == 's' ? 1 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) != 1);
}

TEST(WipeTest, OverwritesTheStringsBuffer) {
  std::string text = kSecret;
  const char* buffer = text.data();
  Wipe(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(buffer[1], '\0');
  EXPECT_EQ(buffer[kSecret.size() - 1], '\0');
}

}  // namespace
}  // namespace bucketvol
