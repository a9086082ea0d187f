// The stored bytes: golden files, versions, damage.
#include <cstdlib>
#include <filesystem>
#include <random>

#include "gtest/gtest.h"
#include "mounter/base/file.h"
#include "mounter/index/sealed_file.h"
#include "test/index/index_fixture.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {
namespace {

using ::testing::HasSubstr;

std::string GoldenDirectory() { return std::string(std::getenv("BUCKETVOL_SOURCE")) + "/test/index/golden"; }

// One of everything: each kind of ETag, each reason, sub-directories out of order, an extent of several
// blocks.
std::vector<TestObject> GoldenObjects() {
  const std::string digest = "0123456789abcdeffedcba9876543210", upper = "0123456789ABCDEFFEDCBA9876543210";
  return {
      {"p/", 0, 1'600'000'000'000, digest},
      {"p/../x", 1, 0, digest},
      {"p//x", 1, 0, digest},
      {"p/a", 100, 1'600'000'000'001, digest},
      {"p/a b", 10'000, 1'600'000'000'002, upper},
      {"p/a-b/f", 4096, 1'600'000'000'003, digest + "-12"},
      {"p/a/", 3, 1'600'000'000'004, digest},
      {"p/a/g", 4097, 1'600'000'000'005, upper + "-3"},
      {"p/a/h", 0, 1'600'000'000'006, ""},
      {"p/b", 1, 1'600'000'000'007, "opaque \xff", true},
  };
}

TEST(IndexFormatTest, TheGoldenFilesAreStillWhatIsWritten) {
  const TempDir directory;
  ASSERT_OK(BuildIndex(TestSettings(directory.path(), "p/"), GoldenObjects()));
  for (const char* name : {kManifestName, kMetaName, kTableName}) {
    const std::string golden = GoldenDirectory() + "/" + name;
    if (std::getenv("BUCKETVOL_UPDATE_GOLDEN") != nullptr) {
      std::filesystem::copy_file(directory / name, golden, std::filesystem::copy_options::overwrite_existing);
    }
    ASSERT_OK_AND_ASSIGN(const std::string expected, ReadWholeFile(golden, 1 << 20));
    ASSERT_OK_AND_ASSIGN(const std::string written, ReadWholeFile(directory / name, 1 << 20));
    EXPECT_TRUE(written == expected) << name
                                     << " changed: raise its version, then set BUCKETVOL_UPDATE_GOLDEN=1";
  }
}

TEST(IndexFormatTest, TheGoldenIndexIsRead) {
  ASSERT_OK_AND_ASSIGN(const OpenIndex index, OpenIndexDirectory(GoldenDirectory()));
  EXPECT_EQ(index.manifest.source, "oss://bucket/p/");
  EXPECT_EQ(index.manifest.report.keys, 10u);
  EXPECT_EQ(index.manifest.report.files, 5u);
  EXPECT_EQ(index.manifest.report.built_at, absl::FromUnixNanos(1'700'000'000'123'456'789));
  ASSERT_OK_AND_ASSIGN(const ObjectExtent last, index.table->At(index.table->rows() - 1));
  EXPECT_EQ(last.key, "p/b");
  EXPECT_EQ(last.etag, "opaque \xff");
}

IndexManifest FullManifest() {
  IndexManifest manifest;
  manifest.version = kIndexVersion;
  manifest.build_id = "0123456789abcdef";
  manifest.source = "oss://b/\xff";
  manifest.endpoint = "https://e";
  manifest.prefix = "p/";
  manifest.options = "umask=022";
  manifest.meta_bytes = 1ull << 40;
  manifest.needs_48bit = true;
  manifest.devices = {{1ull << 28, 1234}, {0, 1ull << 40}};
  manifest.report.keys = 7;
  manifest.report.Skip(SkipReason::kNulByte, std::string("a\0b", 3));
  manifest.report.list_streams_peak = 128;
  manifest.report.built_at = absl::FromUnixMillis(-1);
  manifest.report.build_time = absl::Seconds(3) + absl::Nanoseconds(5);
  manifest.report.image_bytes = manifest.meta_bytes;
  manifest.report.table_bytes = 99;
  return manifest;
}

TEST(IndexFormatTest, AManifestComesBack) {
  const std::string bytes = EncodeIndexManifest(FullManifest());
  ASSERT_OK_AND_ASSIGN(const IndexManifest manifest, DecodeIndexManifest(bytes));
  EXPECT_EQ(EncodeIndexManifest(manifest), bytes);
  EXPECT_EQ(manifest.source, "oss://b/\xff");
  EXPECT_TRUE(manifest.needs_48bit);
  ASSERT_EQ(manifest.devices.size(), 2u);
  EXPECT_EQ(manifest.devices[1].blocks, 1ull << 40);
  EXPECT_EQ(manifest.report.skipped[static_cast<int>(SkipReason::kNulByte)].examples[0],
            std::string("a\0b", 3));
  EXPECT_EQ(manifest.report.built_at, absl::FromUnixMillis(-1));
  EXPECT_EQ(manifest.report.build_time, absl::Seconds(3) + absl::Nanoseconds(5));
  EXPECT_EQ(manifest.report.image_bytes, 1ull << 40);
}

TEST(IndexFormatTest, AnotherManifestVersionAsksForARebuild) {
  std::string bytes = EncodeIndexManifest(FullManifest());
  bytes[8] = 9;
  EXPECT_THAT(DecodeIndexManifest(bytes),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("version: 9")));
}

TEST(IndexFormatTest, EveryDamagedByteOfAManifestIsNoticed) {
  const std::string good = EncodeIndexManifest(FullManifest());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] ^= 0x10;
    EXPECT_FALSE(DecodeIndexManifest(bytes).ok()) << i;
    EXPECT_FALSE(DecodeIndexManifest(good.substr(0, i)).ok()) << i;
  }
  EXPECT_FALSE(DecodeIndexManifest(good + "x").ok());
}

// Fields that make no sense under a checksum that is right: what a hostile writer could make.
TEST(IndexFormatTest, NonsenseUnderAGoodChecksumIsAnError) {
  const std::string good = EncodeIndexManifest(FullManifest());
  std::mt19937_64 random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      bytes[16 + random() % (bytes.size() - 16)] = static_cast<char>(random());
    }
    Seal(bytes);
    const auto manifest = DecodeIndexManifest(bytes);
    if (manifest.ok()) {
      (void)IndexReportText(*manifest);
      (void)IndexManifestJson(*manifest);
    }
  }
}

}  // namespace
}  // namespace bucketvol::testing
