// Images as the kernel sees them: mounted, walked, read, and checked by fsck.erofs.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "mounter/base/file.h"
#include "test/index/hostile_keys.h"
#include "test/index/index_fixture.h"
#include "test/support/erofs_mount.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {
namespace {

constexpr uint64_t kTib = uint64_t{1} << 40;
constexpr size_t kTagBytes = 8;

ErofsNode FromStat(const struct stat& info) {
  ErofsNode node;
  node.mode = info.st_mode;
  node.uid = info.st_uid;
  node.gid = info.st_gid;
  node.links = static_cast<uint32_t>(info.st_nlink);
  node.size = static_cast<uint64_t>(info.st_size);
  node.mtime_seconds = info.st_mtim.tv_sec;
  node.mtime_nanoseconds = static_cast<uint32_t>(info.st_mtim.tv_nsec);
  return node;
}

/// Walks with directory descriptors, so that no path is ever too long.
void WalkMounted(int directory, const std::string& path, std::map<std::string, std::string>& lines) {
  struct stat info;
  ASSERT_EQ(fstat(directory, &info), 0) << path;
  lines[path] = Describe(FromStat(info));
  DIR* stream = fdopendir(dup(directory));
  ASSERT_NE(stream, nullptr) << path;
  absl::Cleanup close_stream = [&] { closedir(stream); };
  while (const dirent* entry = readdir(stream)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string below = path.empty() ? name : path + "/" + name;
    ASSERT_EQ(fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW), 0) << below;
    ASSERT_EQ(entry->d_type, S_ISDIR(info.st_mode) ? DT_DIR : DT_REG) << below;
    lines[below] = Describe(FromStat(info));
    if (!S_ISDIR(info.st_mode)) continue;
    const UniqueFd child(openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(child.valid()) << below;
    WalkMounted(child.get(), below, lines);
  }
}

/// Eight bytes that tell row and position.
std::string Tag(uint64_t row, uint64_t position) {
  std::string tag = absl::StrFormat("%08x", static_cast<uint32_t>(row * 0x9E3779B1u + position));
  return tag;
}

class IndexMountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoMounting(); !why.empty()) GTEST_SKIP() << "not tested: " << why;
    ASSERT_EQ(mkdir(mountpoint_.c_str(), 0755), 0);
  }

  /// Builds, checks with fsck, mounts, compares the tree and the bytes at both ends of every file.
  void Check(const std::vector<TestObject>& objects, IndexBuildSettings settings) {
    ASSERT_OK_AND_ASSIGN(const IndexManifest manifest, BuildIndex(settings, objects));
    if (!manifest.needs_48bit) {
      EXPECT_EQ(FsckErofs(settings.directory, manifest), "");
    }
    ASSERT_OK_AND_ASSIGN(const OpenIndex index, OpenIndexDirectory(settings.directory));
    ASSERT_OK_AND_ASSIGN(auto mounted, MountedImage::Mount(settings.directory, manifest, mountpoint_));
    ASSERT_NO_FATAL_FAILURE(WriteTags(*mounted, *index.table));

    const ReferenceTree tree = MakeReferenceTree(settings.prefix, objects);
    std::map<std::string, std::string> lines;
    {
      ASSERT_OK_AND_ASSIGN(const UniqueFd root, OpenFile(mountpoint_, O_RDONLY | O_DIRECTORY));
      ASSERT_NO_FATAL_FAILURE(WalkMounted(root.get(), "", lines));
    }
    EXPECT_EQ(lines, Lines(tree, settings));
    ASSERT_NO_FATAL_FAILURE(ReadTags(*index.table, tree, settings.prefix));
    last_ = manifest;
  }
  void Check(const std::vector<TestObject>& objects) { Check(objects, TestSettings(index_)); }

  void WriteTags(MountedImage& mounted, const ObjectTable& table) {
    for (uint64_t row = 0; row < table.rows(); ++row) {
      ASSERT_OK_AND_ASSIGN(const ObjectExtent at, table.At(row));
      if (at.size < 2 * kTagBytes) continue;
      ASSERT_OK(mounted.WriteData(at.device, at.offset, Tag(row, 0)));
      ASSERT_OK(mounted.WriteData(at.device, at.offset + at.size - kTagBytes, Tag(row, 1)));
    }
  }

  void ReadTags(const ObjectTable& table, const ReferenceTree& tree, const std::string& prefix) {
    for (uint64_t row = 0; row < table.rows(); ++row) {
      ASSERT_OK_AND_ASSIGN(const ObjectExtent at, table.At(row));
      const std::string path = at.key.substr(prefix.size());
      const auto node = tree.nodes.find(path);
      if (at.size < 2 * kTagBytes || node == tree.nodes.end() || node->second.directory) continue;
      if (path.size() > 3000) continue;
      ASSERT_OK_AND_ASSIGN(const UniqueFd file, OpenFile(mountpoint_ + "/" + path, O_RDONLY));
      std::string tag(kTagBytes, '\0');
      ASSERT_OK(ReadExactlyAt(file.get(), absl::MakeSpan(tag), 0, path));
      EXPECT_EQ(tag, Tag(row, 0)) << path;
      ASSERT_OK(ReadExactlyAt(file.get(), absl::MakeSpan(tag), at.size - kTagBytes, path));
      EXPECT_EQ(tag, Tag(row, 1)) << path;
    }
  }

  const TempDir directory_;
  const std::string index_ = directory_ / "index";
  const std::string mountpoint_ = directory_ / "mnt";
  IndexManifest last_;
};

std::vector<TestObject> Sorted(std::vector<TestObject> objects) {
  std::sort(objects.begin(), objects.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return objects;
}

TEST_F(IndexMountTest, RandomSetsLookLikeTheReference) {
  for (uint64_t seed = 1; seed <= 24 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    HostileKeys keys(seed);
    IndexBuildSettings settings = TestSettings(index_, seed % 3 == 0 ? "data/" : "");
    settings.memory_bytes = seed % 2 == 0 ? 600 : 8 << 20;
    settings.uid = 1234;
    Check(keys.Objects(settings.prefix), settings);
  }
}

TEST_F(IndexMountTest, EmptyBucket) { Check({}); }

TEST_F(IndexMountTest, NamesBeforeTheDotsFillWholeBlocks) {
  std::vector<TestObject> objects;
  for (int i = 0; i < 300; ++i) objects.push_back({absl::StrFormat("!%050d", i), 100, 1, "e"});
  for (int i = 0; i < 300; ++i) objects.push_back({absl::StrFormat("d/!%050d", i), 100, 1, "e"});
  for (int i = 0; i < 300; ++i) objects.push_back({absl::StrFormat("d/x/!%050d", i), 100, 1, "e"});
  Check(Sorted(objects));
}

TEST_F(IndexMountTest, DeepChains) {
  std::vector<TestObject> objects;
  std::string path;
  for (int i = 0; i < 500; ++i) objects.push_back({(path += "d/") + "a", 5000, 1, "e"});
  for (int i = 0; i < 4; ++i)
    objects.push_back({absl::StrCat(std::string(255, 'x'), "/", i, "/", std::string(255, 'y')), 1, 1, "e"});
  Check(Sorted(objects));
}

TEST_F(IndexMountTest, ManySubdirectoriesAndManyFiles) {
  std::vector<TestObject> objects;
  for (int i = 0; i < 500; ++i) {
    objects.push_back({absl::StrCat("many/", i, "-/f"), 1, 1, "e"});
    objects.push_back({absl::StrCat("many/", i, "/f"), 1, 1, "e"});
    objects.push_back({absl::StrCat("many/", i), 1, 1, "e"});
  }
  for (int i = 0; i < 3000; ++i) objects.push_back({absl::StrFormat("flat/%030d", i), 100'000, 1, "e"});
  IndexBuildSettings settings = TestSettings(index_);
  settings.memory_bytes = 4096;
  Check(Sorted(objects), settings);
  EXPECT_EQ(last_.devices.size(), 12u);  // More than one device's worth of objects.
}

TEST_F(IndexMountTest, DirectoriesOfEverySizeAroundABlock) {
  std::vector<TestObject> objects;
  for (int names = 40; names < 120; ++names) {
    for (int i = 0; i < names; ++i) objects.push_back({absl::StrFormat("%03d/%032d", names, i), 1, 1, "e"});
  }
  Check(objects);
}

TEST_F(IndexMountTest, ExtentsRunPastSixteenTebibytes) {
  std::vector<TestObject> objects;
  for (int i = 0; i < 5; ++i) objects.push_back({absl::StrCat("o", i), 3 * kTib + 4097, 1, "e"});
  IndexBuildSettings settings = TestSettings(index_);
  settings.allow_48bit = false;
  Check(objects, settings);
  EXPECT_FALSE(last_.needs_48bit);
  uint64_t end = 0;
  for (const DataDevice& device : last_.devices) end = std::max(end, device.first_block + device.blocks);
  EXPECT_GT(end, uint64_t{1} << 32);
}

TEST_F(IndexMountTest, MoreThanTheFlatSpaceWithout48Bit) {
  std::vector<TestObject> objects;
  for (int i = 0; i < 40; ++i) objects.push_back({absl::StrFormat("o%02d", i), 2 * kTib + 1, 1, "e"});
  for (int i = 0; i < 3; ++i)
    objects.push_back({absl::StrFormat("p%02d", i), 10 * kTib + 123'457, 1, "e"});  // Two chunks.
  IndexBuildSettings settings = TestSettings(index_);
  settings.allow_48bit = false;
  Check(objects, settings);
  EXPECT_FALSE(last_.needs_48bit);
  EXPECT_EQ(last_.devices.back().first_block, 0u);  // A far device.
}

TEST_F(IndexMountTest, LargestObjectsUse48BitNumbers) {
  std::vector<TestObject> objects;
  for (int i = 0; i < 3; ++i) objects.push_back({absl::StrCat("o", i), 48'800'000'000'000, 1, "e"});
  objects.push_back({"small", 100'000, 1, "e"});
  Check(objects);
  EXPECT_TRUE(last_.needs_48bit);
}

}  // namespace
}  // namespace bucketvol::testing
