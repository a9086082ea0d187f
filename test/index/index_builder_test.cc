#include "mounter/index/index_builder.h"

#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "mounter/base/file.h"
#include "nlohmann/json.hpp"
#include "test/index/index_fixture.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename());
  return names;
}

ListedObject Listed(absl::string_view key, uint64_t size = 1) {
  ListedObject object;
  object.key = key;
  object.size = size;
  return object;
}

class IndexBuilderTest : public ::testing::Test {
 protected:
  std::unique_ptr<IndexBuilder> Create(const std::string& prefix = "") {
    auto builder = IndexBuilder::Create(TestSettings(index_, prefix));
    EXPECT_OK(builder);
    return *std::move(builder);
  }

  const TempDir directory_;
  const std::string index_ = directory_ / "a/b";
};

TEST_F(IndexBuilderTest, PublishesThreeFilesAndNothingElse) {
  ASSERT_OK(BuildIndex(TestSettings(index_), {{"a", 1}, {"b/c", 2}}));
  EXPECT_THAT(FilesIn(index_), UnorderedElementsAre(kManifestName, kMetaName, kTableName));
}

TEST_F(IndexBuilderTest, NothingIsVisibleBeforeTheEndOrAfterGivingUp) {
  auto builder = Create();
  ASSERT_OK(builder->Add({Listed("a")}));
  EXPECT_EQ(builder->keys(), 1u);
  EXPECT_TRUE(FilesIn(index_).empty());
  builder.reset();
  EXPECT_TRUE(FilesIn(index_).empty());
}

TEST_F(IndexBuilderTest, AnOldIndexStaysUntilTheNewOneIsDoneAndForItsReaders) {
  ASSERT_OK(BuildIndex(TestSettings(index_), {{"old", 1}}));
  ASSERT_OK_AND_ASSIGN(const OpenIndex old, OpenIndexDirectory(index_));
  {
    auto builder = Create();
    ASSERT_OK(builder->Add({Listed("new")}));
    ASSERT_OK_AND_ASSIGN(const IndexManifest still, ReadIndexManifest(index_));
    EXPECT_EQ(still.build_id, old.manifest.build_id);
    ASSERT_OK(builder->Finish(IndexReport()));
  }
  ASSERT_OK_AND_ASSIGN(const OpenIndex fresh, OpenIndexDirectory(index_));
  EXPECT_NE(fresh.manifest.build_id, old.manifest.build_id);
  EXPECT_EQ(fresh.table->At(0)->key, "new");
  EXPECT_EQ(old.table->At(0)->key, "old");
}

// What a crash between the renames leaves.
TEST_F(IndexBuilderTest, FilesOfTwoBuildsAreNotTakenForAnIndex) {
  const std::string other = directory_ / "other";
  for (const char* name : {kMetaName, kTableName}) {
    ASSERT_OK(BuildIndex(TestSettings(index_), {{"a", 1}}));
    ASSERT_OK(BuildIndex(TestSettings(other), {{"b", 1}}));
    ASSERT_OK(ReadIndexManifest(index_));
    std::filesystem::rename(other + "/" + name, index_ + "/" + name);
    EXPECT_THAT(ReadIndexManifest(index_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(name)));
  }
}

TEST_F(IndexBuilderTest, NoManifestIsNoIndex) {
  EXPECT_THAT(ReadIndexManifest(index_), StatusIs(absl::StatusCode::kNotFound, HasSubstr("manifest")));
  ASSERT_OK(BuildIndex(TestSettings(index_), {{"a", 1}}));
  EXPECT_OK(ReadIndexManifest(index_ + "/manifest"));
  std::filesystem::remove(index_ + "/" + kManifestName);
  EXPECT_THAT(ReadIndexManifest(index_), StatusIs(absl::StatusCode::kNotFound, HasSubstr("manifest")));
}

TEST_F(IndexBuilderTest, TheSameListingGivesTheSameBytes) {
  const std::string other = directory_ / "other";
  ASSERT_OK_AND_ASSIGN(const IndexManifest first, BuildIndex(TestSettings(index_), {{"a", 1}, {"b/c", 2}}));
  ASSERT_OK_AND_ASSIGN(const IndexManifest second, BuildIndex(TestSettings(other), {{"a", 1}, {"b/c", 2}}));
  EXPECT_EQ(EncodeIndexManifest(first), EncodeIndexManifest(second));
  ASSERT_OK_AND_ASSIGN(const IndexManifest third, BuildIndex(TestSettings(other), {{"a", 1}, {"b/c", 3}}));
  EXPECT_NE(first.build_id, third.build_id);
}

TEST_F(IndexBuilderTest, KeysOutOfOrderAreRefused) {
  auto builder = Create();
  ASSERT_OK(builder->Add({Listed("b")}));
  EXPECT_THAT(builder->Add({Listed("b")}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("out of order")));
  EXPECT_THAT(builder->Add({Listed("a")}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("after b came a")));
}

TEST_F(IndexBuilderTest, KeysOutsideThePrefixAreRefused) {
  auto builder = Create("p/");
  EXPECT_THAT(builder->Add({Listed("pq")}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pq")));
}

TEST_F(IndexBuilderTest, AnObjectTooLargeIsRefusedByName) {
  auto builder = Create();
  EXPECT_THAT(builder->Add({Listed("huge", uint64_t{1} << 62)}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("huge")));
}

TEST_F(IndexBuilderTest, AFullDiskIsAClearErrorAndLeavesNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "not tested: only root can mount a small file system";
  const std::string small = directory_ / "small";
  ASSERT_OK(MakeDirectories(small));
  ASSERT_EQ(mount("none", small.c_str(), "tmpfs", 0, "size=1m"), 0);
  const absl::Cleanup unmount = [&] { umount(small.c_str()); };
  for (const char* name : {"%08d/f", "%0100d"}) {  // Many directories; many entries that wait.
    IndexBuildSettings settings = TestSettings(small);
    settings.memory_bytes = 64 << 10;
    ASSERT_OK_AND_ASSIGN(auto builder, IndexBuilder::Create(settings));
    absl::Status status;
    const auto format = *absl::ParsedFormat<'d'>::New(name);
    for (int i = 0; status.ok() && i < 200'000; ++i)
      status = builder->Add({Listed(absl::StrFormat(format, i))});
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(small)));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("No space left")));
    builder.reset();
    EXPECT_TRUE(FilesIn(small).empty());
    EXPECT_GT(std::filesystem::space(small).available, 1'000'000u);
  }
}

TEST_F(IndexBuilderTest, ADirectoryThatCannotBeMadeIsNamed) {
  ASSERT_OK(WriteFileAtomically(directory_ / "file", ""));
  EXPECT_THAT(IndexBuilder::Create(TestSettings(directory_ / "file")),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("file")));
}

TEST_F(IndexBuilderTest, AFailedPublicationLeavesNoTemporaryNames) {
  ASSERT_OK(MakeDirectories(index_ + "/" + kManifestName + "/in the way"));
  EXPECT_THAT(BuildIndex(TestSettings(index_), {{"a", 1}}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("manifest")));
  for (const std::string& name : FilesIn(index_)) EXPECT_EQ(name.find(".new"), std::string::npos) << name;
}

TEST_F(IndexBuilderTest, TheReportKeepsTheFirstTenExamples) {
  std::vector<TestObject> objects;
  for (int i = 0; i < 12; ++i) objects.push_back({absl::StrFormat("a/../%02d\xff", i), 1});
  objects.push_back({"b", 7});
  objects.push_back({"b/c", 7});
  ASSERT_OK_AND_ASSIGN(const IndexManifest manifest, BuildIndex(TestSettings(index_), objects));
  const auto& dots = manifest.report.skipped[static_cast<int>(SkipReason::kDotSegment)];
  EXPECT_EQ(dots.count, 12u);
  ASSERT_EQ(dots.examples.size(), 10u);
  EXPECT_EQ(dots.examples[9], "a/../09\xff");

  const std::string text = IndexReportText(manifest);
  EXPECT_THAT(text, HasSubstr("12 × dot_segment"));
  EXPECT_THAT(text, HasSubstr("a/../00\\xff"));
  EXPECT_THAT(text, HasSubstr("1 × shadowed_by_directory"));
  const auto json = nlohmann::json::parse(IndexManifestJson(manifest));
  EXPECT_EQ(json["skipped"], (nlohmann::json{{"dot_segment", 12}, {"shadowed_by_directory", 1}}));
  EXPECT_EQ(json["examples"]["shadowed_by_directory"], nlohmann::json{"b"});
  EXPECT_EQ(json["keys"], 14);
  EXPECT_EQ(json["files"], 1);
  EXPECT_EQ(json["directories"], 1);
  EXPECT_EQ(json["bytes"], 7);
  EXPECT_EQ(json["built_at"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(json["build_seconds"], 1.5);
  EXPECT_EQ(json["list_requests"], 12);
  EXPECT_EQ(json["image_bytes"], std::filesystem::file_size(index_ + "/" + kMetaName));
  EXPECT_EQ(json["table_bytes"], std::filesystem::file_size(index_ + "/" + kTableName));
  EXPECT_EQ(json["version"], kIndexVersion);
}

TEST_F(IndexBuilderTest, AnEmptyListingSaysSkippedNothing) {
  ASSERT_OK_AND_ASSIGN(const IndexManifest manifest, BuildIndex(TestSettings(index_), {}));
  const auto json = nlohmann::json::parse(IndexManifestJson(manifest));
  EXPECT_EQ(json["skipped"], nlohmann::json::object());
  EXPECT_EQ(json["devices"], nlohmann::json::array());
}

}  // namespace
}  // namespace bucketvol::testing
