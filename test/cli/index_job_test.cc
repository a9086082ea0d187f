#include "mounter/cli/index_job.h"

#include <filesystem>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "test/support/fake_clock.h"
#include "test/support/fake_object_store.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::FakeClock;
using ::bucketvol::testing::FakeObjectStore;
using ::bucketvol::testing::FakeRequest;
using ::bucketvol::testing::StatusIs;
using ::bucketvol::testing::TempDir;
using ::testing::HasSubstr;

class IndexJobTest : public ::testing::Test {
 protected:
  IndexJobTest() {
    options_.source = {Provider::kS3, "b", ""};
    options_.url = "http://127.0.0.1:9000";
  }
  absl::StatusOr<IndexManifest> Run() {
    IndexJob job(store_, clock_, parsers_, options_, dir_ / "index");
    return job.Run(cancellation_);
  }
  bool Published() { return std::filesystem::exists(dir_ / ("index/" + std::string(kManifestName))); }

  TempDir dir_;
  FakeClock clock_;
  ThreadPool parsers_{"parse", 1};
  FakeObjectStore store_{parsers_};
  VolumeOptions options_;
  std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
};

TEST_F(IndexJobTest, BuildsAnIndexOfTheSource) {
  store_.Put("p/a", "12345");
  store_.Put("p/d/b", "67");
  store_.Put("q", "outside");
  options_.source.prefix = "p/";
  ASSERT_OK_AND_ASSIGN(const IndexManifest manifest, Run());
  EXPECT_EQ(manifest.report.files, 2u);
  EXPECT_EQ(manifest.report.bytes, 7u);
  EXPECT_GT(manifest.report.list_requests, 0u);
  EXPECT_EQ(manifest.source, "s3://b/p");
  ASSERT_OK_AND_ASSIGN(const IndexManifest stored, ReadIndexManifest(dir_ / "index"));
  EXPECT_EQ(stored.report.built_at, clock_.WallNow());
}

TEST_F(IndexJobTest, RefusesAPathThatHoldsNoKey) {
  store_.Put("other", "x");
  options_.source.prefix = "p/";
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("s3://b/p")));
  EXPECT_FALSE(Published());
  options_.allow_empty = true;
  EXPECT_OK(Run());
}

TEST_F(IndexJobTest, AnEmptyBucketIsFine) { EXPECT_OK(Run()); }

TEST_F(IndexJobTest, ACancelledJobPublishesNothing) {
  store_.Put("a", "x");
  cancellation_->Cancel();
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_FALSE(Published());
}

TEST_F(IndexJobTest, AFailedListingPublishesNothing) {
  store_.SetListFault(
      [](const ListRequest&, ListPage&) { return absl::PermissionDeniedError("AccessDenied"); });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("AccessDenied")));
  EXPECT_FALSE(Published());
}

TEST_F(IndexJobTest, ASecondBuildAsksAtOnceWhereTheFirstFoundKeys) {
  constexpr size_t kPages = 40;
  constexpr size_t kFirstStreams = 16;
  for (size_t i = 0; i < kPages * 1000; ++i)
    store_.Put(absl::StrFormat("d%d/%08x", i % 7, i * 2654435761), "x");
  ASSERT_OK(Run());
  const size_t first = store_.Requests().size();

  store_.Hold();
  absl::StatusOr<IndexManifest> again;
  std::thread building([&] { again = Run(); });
  store_.AwaitHeld(kFirstStreams);  // Before any answer.
  store_.Release();
  building.join();
  ASSERT_OK(again);
  EXPECT_EQ(again->report.keys, kPages * 1000);
  const std::vector<FakeRequest> requests = store_.Requests();
  EXPECT_LE(requests.size() - first, kPages + 1);
  EXPECT_LT(requests.size() - first, first);
  for (size_t i = first; i < requests.size(); ++i) EXPECT_EQ(requests[i].list.delimiter, "");
}

TEST_F(IndexJobTest, HintsOfAnotherSourceAreNotUsed) {
  for (int i = 0; i < 5'000; ++i) store_.Put(absl::StrFormat("d/%05d", i), "x");
  ASSERT_OK(Run());
  options_.source.bucket = "another";
  store_.Hold();
  absl::StatusOr<IndexManifest> other;
  std::thread building([&] { other = Run(); });
  store_.AwaitHeld(2);  // The first page, and the directories.
  EXPECT_EQ(store_.in_flight(), 2u);
  store_.Release();
  building.join();
  EXPECT_OK(other);
}

}  // namespace
}  // namespace bucketvol
