#include "mounter/bundle/program_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::Contains;
using ::testing::StartsWith;

TEST(ProgramFilesTest, HoldsProgramsLoaderAndLibraries) {
  ASSERT_OK_AND_ASSIGN(const std::vector<BundleFile> files, ProgramFiles("/opt/bin"));
  std::set<std::string> names;
  for (const BundleFile& file : files) {
    EXPECT_TRUE(names.insert(file.name).second) << "twice: " << file.name;
    EXPECT_THAT(file.source, StartsWith("/"));
    if (file.source.rfind("/opt/bin/", 0) == 0) continue;
    EXPECT_EQ(access(file.source.c_str(), R_OK), 0) << file.source;
  }
  EXPECT_EQ(files[0].source, "/opt/bin/bucketvol");
  EXPECT_THAT(names, Contains("bucketvol-guard"));
  EXPECT_THAT(names, Contains(kBundleLoader));
  EXPECT_THAT(names, Contains("libc.so.6"));
  EXPECT_THAT(names, Contains(StartsWith("libstdc++.so")));
}

// The proof that nothing is missing: a program runs by the loader and the libraries of the list alone.
TEST(ProgramFilesTest, TheLoaderIsOne) {
  ASSERT_OK_AND_ASSIGN(const std::vector<BundleFile> files, ProgramFiles("/opt/bin"));
  for (const BundleFile& file : files) {
    if (file.name != kBundleLoader) continue;
    EXPECT_EQ(system((file.source + " /bin/true").c_str()), 0);
    return;
  }
  FAIL() << "no loader";
}

}  // namespace
}  // namespace bucketvol
