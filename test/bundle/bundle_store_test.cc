#include "mounter/bundle/bundle_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "mounter/base/file.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
std::string Read(const std::string& path) { return ReadWholeFile(path, 1 << 20).value_or("cannot be read"); }

class BundleStoreTest : public ::testing::Test {
 protected:
  BundleStoreTest() {
    std::filesystem::create_directories(dir_ / "installed");
    Write(dir_ / "installed/program", "version 1");
    Write(dir_ / "installed/library", "a library");
  }
  std::vector<BundleFile> files() const {
    return {{dir_ / "installed/program", "program"}, {dir_ / "installed/library", "lib.so.1"}};
  }
  std::set<std::string> Bundles() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / "state/bundle"))
      names.insert(entry.path());
    return names;
  }

  testing::TempDir dir_;
  const BundleStore store_{dir_ / "state"};
};

TEST_F(BundleStoreTest, CopiesWhatItIsGiven) {
  ASSERT_OK_AND_ASSIGN(const Bundle bundle, store_.Provide(files()));
  EXPECT_EQ(Read(bundle.directory() + "/program"), "version 1");
  EXPECT_EQ(Read(bundle.directory() + "/lib.so.1"), "a library");
  EXPECT_EQ(access((bundle.directory() + "/program").c_str(), X_OK), 0);
  EXPECT_THAT(Bundles(), ElementsAre(bundle.directory()));
}

TEST_F(BundleStoreTest, TheSameVersionIsCopiedOnce) {
  ASSERT_OK_AND_ASSIGN(const Bundle first, store_.Provide(files()));
  ASSERT_OK_AND_ASSIGN(const FileIdentity before, Identify(first.directory() + "/program"));
  ASSERT_OK_AND_ASSIGN(const Bundle second, store_.Provide(files()));
  EXPECT_EQ(second.directory(), first.directory());
  ASSERT_OK_AND_ASSIGN(const FileIdentity after, Identify(second.directory() + "/program"));
  EXPECT_EQ(after, before);
}

TEST_F(BundleStoreTest, AnUpgradeLeavesTheOldCopyAlone) {
  ASSERT_OK_AND_ASSIGN(const Bundle old, store_.Provide(files()));
  Write(dir_ / "installed/program", "version 2");
  ASSERT_OK_AND_ASSIGN(const Bundle now, store_.Provide(files()));
  EXPECT_NE(now.directory(), old.directory());
  EXPECT_EQ(Read(old.directory() + "/program"), "version 1");
  EXPECT_EQ(Read(now.directory() + "/program"), "version 2");
  std::filesystem::remove_all(dir_ / "installed");
  EXPECT_EQ(Read(now.directory() + "/program"), "version 2");
}

TEST_F(BundleStoreTest, TheSameContentsFromElsewhereAreTheSameBundle) {
  ASSERT_OK_AND_ASSIGN(const Bundle first, store_.Provide(files()));
  std::filesystem::rename(dir_ / "installed/program", dir_ / "installed/moved");
  std::vector<BundleFile> moved = files();
  moved[0].source = dir_ / "installed/moved";
  ASSERT_OK_AND_ASSIGN(const Bundle second, store_.Provide(moved));
  EXPECT_EQ(second.directory(), first.directory());
  EXPECT_THAT(Bundles(), ElementsAre(first.directory()));
}

TEST_F(BundleStoreTest, ADamagedCopyIsMadeAnew) {
  std::string directory;
  {
    ASSERT_OK_AND_ASSIGN(const Bundle bundle, store_.Provide(files()));
    directory = bundle.directory();
  }
  // The same size and time of modification, as a bad disk would leave them.
  const std::string path = directory + "/lib.so.1";
  const auto time = std::filesystem::last_write_time(path);
  Write(path, "A library");
  std::filesystem::last_write_time(path, time);
  ASSERT_OK_AND_ASSIGN(const Bundle bundle, store_.Provide(files()));
  EXPECT_EQ(Read(bundle.directory() + "/lib.so.1"), "a library");
  store_.Collect(bundle.directory());
  EXPECT_THAT(Bundles(), ElementsAre(bundle.directory()));
}

TEST_F(BundleStoreTest, AfterABootTheContentsAreRead) {
  ASSERT_OK_AND_ASSIGN(const Bundle bundle, store_.Provide(files()));
  const std::string path = bundle.directory() + "/lib.so.1";
  // What was never written to the disk is zeros after a power failure, of the right size.
  Write(path, std::string(9, '\0'));
  ASSERT_OK_AND_ASSIGN(BundleManifest manifest,
                       BundleManifest::Decode(Read(bundle.directory() + "/manifest")));
  ASSERT_OK_AND_ASSIGN(manifest.entries[1].copy, Identify(path));
  manifest.boot = "another boot";
  Write(bundle.directory() + "/manifest", manifest.Encode());
  ASSERT_OK_AND_ASSIGN(const Bundle again, store_.Provide(files()));
  EXPECT_EQ(Read(again.directory() + "/lib.so.1"), "a library");
}

TEST_F(BundleStoreTest, AnUntouchedCopyOutlivesABoot) {
  ASSERT_OK_AND_ASSIGN(const Bundle bundle, store_.Provide(files()));
  ASSERT_OK_AND_ASSIGN(BundleManifest manifest,
                       BundleManifest::Decode(Read(bundle.directory() + "/manifest")));
  const std::string boot = manifest.boot;
  manifest.boot = "another boot";
  Write(bundle.directory() + "/manifest", manifest.Encode());
  ASSERT_OK_AND_ASSIGN(const FileIdentity before, Identify(bundle.directory() + "/program"));
  ASSERT_OK_AND_ASSIGN(const Bundle again, store_.Provide(files()));
  ASSERT_OK_AND_ASSIGN(const FileIdentity after, Identify(again.directory() + "/program"));
  EXPECT_EQ(after, before);
  EXPECT_THAT(Read(again.directory() + "/manifest"), HasSubstr(boot));
}

TEST_F(BundleStoreTest, OnlyVersionsThatNobodyRunsFromAreCollected) {
  std::optional<Bundle> used;
  ASSERT_OK_AND_ASSIGN(used, store_.Provide(files()));
  const std::string first = used->directory();
  Write(dir_ / "installed/program", "version 2");
  std::string second;
  {
    ASSERT_OK_AND_ASSIGN(const Bundle bundle, store_.Provide(files()));
    second = bundle.directory();
  }
  std::filesystem::create_directories(dir_ / "state/bundle/.new-killed");
  Write(dir_ / "state/bundle/.new-killed/program", "half");
  Write(dir_ / "installed/program", "version 3");
  ASSERT_OK_AND_ASSIGN(const Bundle third, store_.Provide(files()));
  store_.Collect(third.directory());
  EXPECT_EQ(Bundles(), (std::set<std::string>{first, third.directory()}));
  used.reset();
  store_.Collect(third.directory());
  EXPECT_EQ(Bundles(), std::set<std::string>{third.directory()});
}

TEST_F(BundleStoreTest, ManyAtOnceMakeOneBundle) {
  std::vector<absl::StatusOr<Bundle>> results;
  for (int i = 0; i < 8; ++i) results.emplace_back(absl::UnknownError(""));
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&] { result = store_.Provide(files()); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) {
    ASSERT_OK(result.status());
    EXPECT_EQ(result->directory(), results[0]->directory());
  }
  EXPECT_THAT(Bundles(), ElementsAre(results[0]->directory()));
}

TEST_F(BundleStoreTest, AMissingSourceIsNamedAndLeavesNothing) {
  std::vector<BundleFile> missing = files();
  missing.push_back({dir_ / "installed/nothing", "nothing"});
  EXPECT_THAT(store_.Provide(missing).status().message(), HasSubstr("installed/nothing"));
  EXPECT_TRUE(Bundles().empty());
}

TEST_F(BundleStoreTest, WhereProgramsMayNotRunItIsInMemory) {
  std::filesystem::create_directories(dir_ / "state");
  if (mount("test", (dir_ / "state").c_str(), "tmpfs", MS_NOEXEC, nullptr) != 0)
    GTEST_SKIP() << "may not mount";
  Write(dir_ / "installed/program", "#!/bin/sh\nexit 7\n");
  {
    ASSERT_OK_AND_ASSIGN(const Bundle bundle, store_.Provide(files()));
    EXPECT_EQ(system((bundle.directory() + "/program").c_str()), 7 << 8);
    ASSERT_OK_AND_ASSIGN(const Bundle again, store_.Provide(files()));
    EXPECT_EQ(again.directory(), bundle.directory());
  }
  EXPECT_EQ(umount((dir_ / "state/bundle").c_str()), 0);
  EXPECT_NE(umount((dir_ / "state/bundle").c_str()), 0);  // Mounted once only.
  EXPECT_EQ(umount((dir_ / "state").c_str()), 0);
}

}  // namespace
}  // namespace bucketvol
