#include "mounter/cli/index_store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "mounter/base/file.h"
#include "test/support/fake_clock.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::FakeClock;
using ::bucketvol::testing::StatusIs;
using ::bucketvol::testing::TempDir;

class IndexStoreTest : public ::testing::Test {
 protected:
  static IndexKey Key(const std::string& source) {
    return {source, "http://e:80", "umask=022\n", "anonymous"};
  }
  IndexLease Claim(const IndexKey& key) {
    auto lease = store_.Claim(key, cancellation_);
    EXPECT_OK(lease);
    return *std::move(lease);
  }
  // An index that was built, and is kept until `until`.
  std::string Build(const IndexKey& key, absl::Time until) {
    IndexLease lease = Claim(key);
    EXPECT_OK(WriteFileAtomically(lease.directory() + "/" + kMetaName, "meta"));
    EXPECT_OK(WriteFileAtomically(lease.directory() + "/" + kManifestName, "manifest"));
    EXPECT_OK(lease.KeepUntil(until));
    return lease.directory();
  }
  static bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

  TempDir dir_;
  FakeClock clock_;
  IndexStore store_{dir_.path(), clock_};
  Cancellation cancellation_;
};

TEST_F(IndexStoreTest, EachKeyHasItsOwnDirectory) {
  const IndexKey base = Key("s3://b");
  IndexKey other_options = base;
  other_options.options = "umask=077\n";
  IndexKey other_endpoint = base;
  other_endpoint.endpoint = "http://f:80";
  IndexKey other_tenant = base;
  other_tenant.identity = "key:someone";
  std::set<std::string> directories;
  for (const IndexKey& key : {base, Key("oss://b"), other_options, other_endpoint, other_tenant}) {
    directories.insert(Claim(key).directory());
  }
  EXPECT_EQ(directories.size(), 5u);
  const std::string once = Claim(base).directory();
  EXPECT_EQ(Claim(base).directory(), once);
}

TEST_F(IndexStoreTest, AClaimInWhichNothingWasBuiltLeavesNothing) {
  std::string directory;
  {
    const IndexLease lease = Claim(Key("s3://b"));
    directory = lease.directory();
    EXPECT_OK(WriteFileAtomically(directory + "/part", "half"));
    EXPECT_TRUE(Exists(directory));
  }
  EXPECT_FALSE(Exists(directory));
  EXPECT_FALSE(Exists(dir_ / "index"));
}

TEST_F(IndexStoreTest, ASecondBuilderWaitsForTheFirst) {
  std::optional<IndexLease> first(Claim(Key("s3://b")));
  Cancellation cancelled;
  cancelled.Cancel();
  EXPECT_THAT(store_.Claim(Key("s3://b"), cancelled), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  std::optional<IndexLease> second;
  std::thread waiting([&] { second.emplace(Claim(Key("s3://b"))); });
  first.reset();  // Removes the directory: the second one makes it anew.
  waiting.join();
  EXPECT_TRUE(Exists(second->directory() + "/build.lock"));
}

TEST_F(IndexStoreTest, BuildersThatComeAndGoLeaveEachOtherAlone) {
  const auto come_and_go = [&] {
    for (int i = 0; i < 500; ++i) {
      const auto lease = store_.Claim(Key("s3://b"), cancellation_);
      EXPECT_OK(lease);
    }
  };
  std::thread another(come_and_go);
  come_and_go();
  another.join();
}

TEST_F(IndexStoreTest, BuildersLoseNothingToACollector) {
  Build(Key("s3://other"), clock_.WallNow() + absl::Hours(1));
  std::atomic<bool> done = false;
  std::thread collector([&] {
    while (!done) store_.Collect();
  });
  for (int i = 0; i < 1000; ++i) {
    const IndexLease lease = Claim(Key("s3://b"));
    EXPECT_OK(WriteFileAtomically(lease.directory() + "/staged", "half"));
    EXPECT_TRUE(Exists(lease.directory() + "/staged"));
  }
  done = true;
  collector.join();
}

TEST_F(IndexStoreTest, ASecondBuilderIsToldHowFarTheFirstIs) {
  std::optional<IndexLease> first(Claim(Key("s3://b")));
  std::vector<uint64_t> told;
  Cancellation enough;
  const auto waiting = [&](uint64_t keys) {
    told.push_back(keys);
    if (keys == 0) first->NoteKeys(4'200'000);
    if (keys == 4'200'000) first->NoteKeys(5);
    if (keys == 5) first.reset();
  };
  ASSERT_OK_AND_ASSIGN(const IndexLease second, store_.Claim(Key("s3://b"), enough, waiting));
  EXPECT_THAT(told, ::testing::ElementsAre(0, 4'200'000, 5));
}

TEST_F(IndexStoreTest, WhatABuilderBeforeHadListedIsForgotten) {
  Build(Key("s3://b"), absl::InfiniteFuture());
  std::optional<IndexLease> first(Claim(Key("s3://b")));
  first->NoteKeys(7);
  first.reset();
  std::optional<IndexLease> second(Claim(Key("s3://b")));
  Cancellation enough;
  std::vector<uint64_t> told;
  const auto waiting = [&](uint64_t keys) {
    told.push_back(keys);
    enough.Cancel();
  };
  EXPECT_THAT(store_.Claim(Key("s3://b"), enough, waiting),
              StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_THAT(told, ::testing::ElementsAre(0));
}

TEST_F(IndexStoreTest, AReleasedBuildLetsTheNextOneInWhileTheIndexIsInUse) {
  Build(Key("s3://b"), absl::InfinitePast());
  IndexLease user = Claim(Key("s3://b"));
  user.ReleaseBuild();
  const IndexLease builder = Claim(Key("s3://b"));
  EXPECT_EQ(builder.directory(), user.directory());
}

TEST_F(IndexStoreTest, CollectsWhatIsUnusedAndOverTime) {
  const std::string old = Build(Key("s3://old"), clock_.WallNow() - absl::Seconds(1));
  const std::string kept = Build(Key("s3://kept"), clock_.WallNow() + absl::Hours(1));
  store_.Collect();
  EXPECT_FALSE(Exists(old));
  EXPECT_TRUE(Exists(kept));
  clock_.Advance(absl::Hours(2));
  store_.Collect();
  EXPECT_FALSE(Exists(kept));
}

TEST_F(IndexStoreTest, CollectsNothingThatIsInUseOrBeingBuilt) {
  const std::string directory = Build(Key("s3://b"), clock_.WallNow() - absl::Seconds(1));
  {
    IndexLease lease = Claim(Key("s3://b"));
    store_.Collect();
    EXPECT_TRUE(Exists(directory + "/" + kManifestName));
    lease.ReleaseBuild();
    store_.Collect();
    EXPECT_TRUE(Exists(directory + "/" + kManifestName));
  }
  store_.Collect();
  EXPECT_FALSE(Exists(directory));
}

TEST_F(IndexStoreTest, CollectsWhatAKilledBuilderLeft) {
  std::string directory;
  const pid_t builder = fork();
  if (builder == 0) {
    const auto lease = store_.Claim(Key("s3://b"), cancellation_);
    _exit(lease.ok() ? 0 : 1);  // Without destructors, like a killed process.
  }
  int status = 0;
  waitpid(builder, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(Exists(dir_ / "index"));
  store_.Collect();
  EXPECT_FALSE(Exists(dir_ / "index"));
}

TEST_F(IndexStoreTest, RemovesTheHalfPublishedFilesOfAKilledBuilder) {
  const std::string directory = Build(Key("s3://b"), clock_.WallNow() + absl::Hours(1));
  ASSERT_OK(WriteFileAtomically(directory + "/objects.new", "half"));
  EXPECT_TRUE(store_.Collect());
  EXPECT_FALSE(Exists(directory + "/objects.new"));
  EXPECT_TRUE(Exists(directory + "/" + kMetaName));
  ASSERT_OK(WriteFileAtomically(directory + "/objects.new", "half"));
  const IndexLease lease = Claim(Key("s3://b"));
  EXPECT_FALSE(Exists(directory + "/objects.new"));
  EXPECT_FALSE(store_.Collect()) << "it is being built";
}

TEST_F(IndexStoreTest, AStateDirectoryThatCannotBeMadeIsNamed) {
  ASSERT_OK(WriteFileAtomically(dir_ / "file", ""));
  const absl::Status status = IndexStore(dir_ / "file", clock_).Claim(Key("s3://b"), cancellation_).status();
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(dir_ / "file"));
}

}  // namespace
}  // namespace bucketvol
