#include "test/bucketd/directory_bucket.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/bucketd/digest.h"
#include "test/bucketd/text.h"
#include "test/support/temp_dir.h"

namespace bucketvol::bucketd {
namespace {

using ::bucketvol::testing::TempDir;
using ::testing::ElementsAre;
using HeaderListOf = std::vector<std::pair<std::string, std::string>>;

std::string Md5Hex(absl::string_view text) { return HexLower(DigestOf(DigestKind::kMd5, text)); }

class CollectingVisitor final : public EntryVisitor {
 public:
  Step Visit(const ListEntry& entry) override {
    keys.emplace_back(entry.key);
    etags.emplace_back(entry.etag);
    return Step::kNext;
  }
  absl::string_view skip_prefix() const override { return ""; }
  std::vector<std::string> keys;
  std::vector<std::string> etags;
};

class DirectoryBucketTest : public ::testing::Test {
 protected:
  DirectoryBucketTest() {
    std::filesystem::create_directory(Dir());
    Restart();
  }

  std::string Dir() const { return temp_ / "bucket"; }
  void Restart() {
    bucket_.reset();
    auto bucket = DirectoryBucket::Open("bucket", Dir(), temp_ / "hidden", hub_);
    ASSERT_TRUE(bucket.ok()) << bucket.status();
    bucket_ = *std::move(bucket);
  }
  void WriteFile(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(Dir() + "/" + path).parent_path());
    std::ofstream(Dir() + "/" + path) << content;
  }
  std::string ReadFile(const std::string& path) {
    std::ifstream file(Dir() + "/" + path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  Outcome<ObjectMeta> Put(const std::string& key, const std::string& content,
                          const WriteCondition& condition = {}, HeaderListOf headers = {}) {
    absl::StatusOr<StagedFile> file = bucket_->Stage();
    EXPECT_TRUE(file.ok() && file->Append(content).ok());
    ObjectMeta meta;
    meta.etag = HexLower(file->FinishMd5());
    meta.crc64 = file->crc64();
    meta.headers = std::move(headers);
    return bucket_->Commit(key, *std::move(file), std::move(meta), condition);
  }
  std::vector<std::string> Keys() {
    CollectingVisitor visitor;
    bucket_->Scan("", Bound::kAt, visitor);
    return visitor.keys;
  }
  std::string Content(const std::string& key) {
    Outcome<OpenObject> object = bucket_->Open(key);
    if (!object.ok()) return "(none)";
    std::string content(object->meta.size, '\0');
    EXPECT_TRUE(object->body->Read(0, content.data(), content.size()));
    return content;
  }

  TempDir temp_;
  std::shared_ptr<InotifyHub> hub_ = std::make_shared<InotifyHub>();
  std::shared_ptr<DirectoryBucket> bucket_;
};

TEST_F(DirectoryBucketTest, FilesAreObjectsWithTheirMd5) {
  WriteFile("a/b.txt", "hello");
  CollectingVisitor visitor;
  bucket_->Scan("", Bound::kAt, visitor);
  EXPECT_THAT(visitor.keys, ElementsAre("a/b.txt"));
  EXPECT_THAT(visitor.etags, ElementsAre(Md5Hex("hello")));
  EXPECT_EQ(Content("a/b.txt"), "hello");
}

TEST_F(DirectoryBucketTest, ChangesFromOutsideShowAtOnce) {
  WriteFile("a", "1");
  EXPECT_THAT(Keys(), ElementsAre("a"));
  WriteFile("d/e/f", "2");
  WriteFile("a", "changed");
  EXPECT_THAT(Keys(), ElementsAre("a", "d/e/f"));
  EXPECT_EQ(Content("a"), "changed");
  EXPECT_EQ(bucket_->Open("a")->meta.etag, Md5Hex("changed"));
  std::filesystem::rename(Dir() + "/d", Dir() + "/moved");
  EXPECT_THAT(Keys(), ElementsAre("a", "moved/e/f"));
  WriteFile("moved/e/g", "3");
  std::filesystem::remove_all(Dir() + "/moved/e");
  std::filesystem::remove(Dir() + "/a");
  EXPECT_THAT(Keys(), ElementsAre());
}

// The kernel gives an account few inotify instances; every bucket must see changes all the same.
TEST_F(DirectoryBucketTest, ManyBucketsShareOneWatcher) {
  std::vector<std::shared_ptr<DirectoryBucket>> buckets;
  for (int i = 0; i < 300; ++i) {
    const std::string dir = temp_ / ("many" + std::to_string(i));
    std::filesystem::create_directory(dir);
    auto bucket = DirectoryBucket::Open("many", dir, dir + "-hidden", hub_);
    ASSERT_TRUE(bucket.ok()) << bucket.status();
    buckets.push_back(*std::move(bucket));
    std::ofstream(dir + "/file") << i;
  }
  for (const std::shared_ptr<DirectoryBucket>& bucket : buckets) EXPECT_TRUE(bucket->Open("file").ok());
}

TEST_F(DirectoryBucketTest, SymlinksOfTheDiskAreNoObjects) {
  WriteFile("a", "1");
  ASSERT_EQ(symlink("a", (Dir() + "/link").c_str()), 0);
  ASSERT_EQ(symlink("/etc", (Dir() + "/etc").c_str()), 0);
  EXPECT_THAT(Keys(), ElementsAre("a"));
}

TEST_F(DirectoryBucketTest, PlainKeysBecomePlainFiles) {
  ASSERT_TRUE(Put("x/y/z", "data").ok());
  EXPECT_EQ(ReadFile("x/y/z"), "data");
}

const std::vector<std::string>& HostileKeys() {
  static const std::vector<std::string> keys = {"a",
                                                "a/",
                                                "a/b",
                                                "a//b",
                                                "a/b/",
                                                "/",
                                                "//",
                                                "/lead",
                                                ".",
                                                "..",
                                                "../x",
                                                "x/../y",
                                                "./z",
                                                std::string("n\0l", 3),
                                                "\x01\x02",
                                                "new\nline",
                                                "\xff\xfe",
                                                "back\\slash",
                                                std::string(256, 'l'),
                                                "d/" + std::string(300, 'm'),
                                                std::string(1024, 'k'),
                                                ".bucketd/journal"};
  return keys;
}

TEST_F(DirectoryBucketTest, HostileKeysLiveAndSurviveARestart) {
  for (const std::string& key : HostileKeys()) {
    const Outcome<ObjectMeta> stored = Put(key, "content of " + key, {}, {{"meta-k", key}});
    ASSERT_TRUE(stored.ok()) << key;
  }
  std::vector<std::string> sorted = HostileKeys();
  std::sort(sorted.begin(), sorted.end());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Keys(), sorted);
    for (const std::string& key : HostileKeys()) {
      EXPECT_EQ(Content(key), "content of " + key);
      const Outcome<OpenObject> object = bucket_->Open(key);
      ASSERT_TRUE(object.ok()) << key;
      EXPECT_EQ(object->meta.etag, Md5Hex("content of " + key));
      EXPECT_EQ(object->meta.headers, (HeaderListOf{{"meta-k", key}}));
    }
    Restart();
  }
  // Nothing was written outside the bucket and its hidden area.
  size_t outside = 0;
  for (const auto& entry : std::filesystem::directory_iterator(temp_.path()))
    outside += entry.path().filename() != "bucket" && entry.path().filename() != "hidden";
  EXPECT_EQ(outside, 0u);
}

TEST_F(DirectoryBucketTest, HostileKeysAreOverwrittenAndDeleted) {
  for (const std::string& key : HostileKeys()) ASSERT_TRUE(Put(key, "old").ok());
  for (const std::string& key : HostileKeys()) ASSERT_TRUE(Put(key, "new").ok());
  for (const std::string& key : HostileKeys()) EXPECT_EQ(Content(key), "new");
  for (const std::string& key : HostileKeys()) ASSERT_TRUE(bucket_->Delete(key).ok());
  EXPECT_TRUE(bucket_->empty());
  EXPECT_TRUE(std::filesystem::is_empty(Dir()));
  EXPECT_TRUE(std::filesystem::is_empty(temp_ / "hidden/aside"));
  EXPECT_TRUE(std::filesystem::is_empty(temp_ / "hidden/staged"));
  Restart();
  EXPECT_THAT(Keys(), ElementsAre());
}

TEST_F(DirectoryBucketTest, FileAndDirectoryOfOneName) {
  ASSERT_TRUE(Put("a/b", "below").ok());
  ASSERT_TRUE(Put("a", "file").ok());
  EXPECT_EQ(ReadFile("a/b"), "below");
  EXPECT_EQ(Content("a"), "file");
  ASSERT_TRUE(bucket_->Delete("a/b").ok());
  EXPECT_EQ(Content("a"), "file");
  ASSERT_TRUE(Put("a", "plain now").ok());
  EXPECT_EQ(ReadFile("a"), "plain now");
}

TEST_F(DirectoryBucketTest, MetadataOfAChangedFileIsDropped) {
  ASSERT_TRUE(Put("k", "mine", {}, {{"content-type", "text/x"}}).ok());
  WriteFile("k", "someone else's");
  const Outcome<OpenObject> object = bucket_->Open("k");
  EXPECT_TRUE(object->meta.headers.empty());
  EXPECT_EQ(object->meta.etag, Md5Hex("someone else's"));
}

TEST_F(DirectoryBucketTest, ConditionsAreCheckedWithTheWrite) {
  WriteCondition absent;
  absent.only_if_absent = true;
  ASSERT_TRUE(Put("k", "1", absent).ok());
  EXPECT_EQ(Put("k", "2", absent).error().kind, ErrorKind::kFileExists);
  WriteCondition match;
  match.if_etag = "\"" + ToUpper(Md5Hex("1")) + "\"";
  ASSERT_TRUE(Put("k", "3", match).ok());
  EXPECT_EQ(Put("k", "4", match).error().kind, ErrorKind::kPreconditionFailed);
  EXPECT_EQ(Put("other", "4", match).error().kind, ErrorKind::kNoSuchKey);
  EXPECT_EQ(Content("k"), "3");
}

TEST_F(DirectoryBucketTest, ReadersKeepTheVersionTheyOpened) {
  ASSERT_TRUE(Put("k", "first").ok());
  Outcome<OpenObject> object = bucket_->Open("k");
  ASSERT_TRUE(Put("k", "other").ok());
  std::string content(5, '\0');
  ASSERT_TRUE(object->body->Read(0, content.data(), 5));
  EXPECT_EQ(content, "first");
}

TEST_F(DirectoryBucketTest, SymlinkReplacesAPlainFile) {
  ASSERT_TRUE(Put("k", "file").ok());
  ObjectMeta meta;
  meta.type = ObjectType::kSymlink;
  meta.symlink_target = "t";
  ASSERT_TRUE(bucket_->PutSymlink("k", meta, {}).ok());
  EXPECT_FALSE(std::filesystem::exists(Dir() + "/k"));
  Restart();
  EXPECT_EQ(bucket_->Open("k")->meta.symlink_target, "t");
}

TEST_F(DirectoryBucketTest, UncommittedFilesVanish) {
  { auto file = bucket_->Stage(); }
  EXPECT_TRUE(std::filesystem::is_empty(temp_ / "hidden/staged"));
  std::ofstream(temp_ / "hidden/staged/left-over") << "x";
  Restart();
  EXPECT_TRUE(std::filesystem::is_empty(temp_ / "hidden/staged"));
}

TEST_F(DirectoryBucketTest, JournalIsRewrittenWhenMostOfItIsOld) {
  for (int i = 0; i < 1200; ++i)
    ASSERT_TRUE(Put("k", std::to_string(i), {}, {{"meta-n", std::to_string(i)}}).ok());
  const auto size = std::filesystem::file_size(temp_ / "hidden/journal");
  Restart();
  EXPECT_LT(std::filesystem::file_size(temp_ / "hidden/journal"), size / 100);
  EXPECT_EQ(bucket_->Open("k")->meta.headers, (HeaderListOf{{"meta-n", "1199"}}));
}

TEST(PlainKeyTest, OnlyPathsThatMeanThemselves) {
  for (const char* plain : {"a", "a/b", "...", "a..", " ", "\xff"}) EXPECT_TRUE(IsPlainKey(plain)) << plain;
  for (const char* other : {"", "/", "a/", "/a", "a//b", ".", "..", "a/./b", "a/.."})
    EXPECT_FALSE(IsPlainKey(other)) << other;
  EXPECT_TRUE(IsPlainKey(std::string(255, 'x')));
  EXPECT_FALSE(IsPlainKey(std::string(256, 'x')));
  EXPECT_FALSE(IsPlainKey(absl::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace bucketvol::bucketd
