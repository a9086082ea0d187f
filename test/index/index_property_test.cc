// Random hostile listings: the image must equal the reference tree, and the table must lead from every file's
// address to its object.
#include <functional>

#include "gtest/gtest.h"
#include "test/index/hostile_keys.h"
#include "test/index/index_fixture.h"
#include "test/support/erofs_reader.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {
namespace {

constexpr uint64_t kSets = 1'200;
constexpr uint64_t kBlock = kIndexBlockBytes;

// A file, with its path and the object it must lead to.
using EachFile = std::function<void(const std::string&, const ErofsNode&)>;

void Walk(const ErofsNode& node, const std::string& path, const EachFile& each) {
  if (!node.directory()) return each(path, node);
  for (const auto& [name, child] : node.children) Walk(child, path.empty() ? name : path + "/" + name, each);
}

void ExpectSameObject(const absl::StatusOr<std::optional<ObjectExtent>>& found, const TestObject& object) {
  ASSERT_OK(found);
  ASSERT_TRUE(found->has_value()) << object.key;
  EXPECT_EQ((*found)->key, object.key);
  EXPECT_EQ((*found)->etag, object.etag);
  EXPECT_EQ((*found)->size, object.size);
}

void CheckTable(const ObjectTable& table, const ErofsImage& image, const ReferenceTree& tree) {
  Walk(image.root, "", [&](const std::string& path, const ErofsNode& node) {
    if (node.size == 0) return;
    const TestObject& object = *tree.nodes.at(path).object;
    const auto device = static_cast<uint32_t>(node.device);
    const uint64_t begin = node.device_block * kBlock;
    ExpectSameObject(table.Find(device, begin), object);
    ExpectSameObject(table.Find(device, begin + node.size - 1), object);
    ASSERT_OK_AND_ASSIGN(const auto first, table.Find(device, begin));
    EXPECT_EQ(first->offset, begin);
    ASSERT_OK_AND_ASSIGN(const ObjectExtent same, table.At(first->row));
    EXPECT_EQ(same.key, object.key);
    EXPECT_EQ(same.offset, begin);
    EXPECT_EQ(same.device, device);
    ASSERT_OK_AND_ASSIGN(const auto next, table.Find(device, begin + node.size));
    if (next.has_value()) {
      EXPECT_GE(next->offset, begin + node.size);
    }
  });
}

void CheckReport(const IndexReport& report, const std::vector<TestObject>& objects,
                 const ReferenceTree& tree) {
  uint64_t files = 0, bytes = 0, archived = 0, directories = 0, marked = 0, skipped = 0;
  for (const auto& [path, node] : tree.nodes) {
    files += !node.directory;
    if (!node.directory) bytes += node.object->size, archived += node.object->archived;
    directories += node.directory && !path.empty();
    marked += node.directory && !path.empty() && node.object != nullptr;
  }
  EXPECT_EQ(report.keys, objects.size());
  EXPECT_EQ(report.files, files);
  EXPECT_EQ(report.bytes, bytes);
  EXPECT_EQ(report.archived, archived);
  EXPECT_EQ(report.directories, directories);
  EXPECT_EQ(report.marked_directories, marked);
  for (int i = 0; i < kSkipReasons; ++i) {
    const auto reason = static_cast<SkipReason>(i);
    const auto expected = tree.skipped.find(reason);
    EXPECT_EQ(report.skipped[i].count, expected == tree.skipped.end() ? 0 : expected->second)
        << SkipReasonName(reason);
    EXPECT_EQ(report.skipped[i].examples.size(), std::min<uint64_t>(report.skipped[i].count, 10));
    if (reason != SkipReason::kDirectoryData) skipped += report.skipped[i].count;
  }
  const bool root_marked = tree.nodes.at("").object != nullptr;
  EXPECT_EQ(report.keys, report.files + report.marked_directories + root_marked + skipped);
}

void CheckSet(uint64_t seed, const std::string& directory) {
  HostileKeys keys(seed);
  IndexBuildSettings settings = TestSettings(directory, keys.Below(3) == 0 ? "p/\xc3\xa9/" : "");
  settings.umask = static_cast<uint32_t>(keys.Below(2) * 077);
  settings.uid = static_cast<uint32_t>(keys.Below(2) * 100'000);
  if (keys.Below(2) == 0) settings.memory_bytes = 512 + keys.Below(2'000);  // Spills all the time.
  const std::vector<TestObject> objects = keys.Objects(settings.prefix);
  const ReferenceTree tree = MakeReferenceTree(settings.prefix, objects);

  ASSERT_OK_AND_ASSIGN(const IndexManifest manifest, BuildIndex(settings, objects));
  ASSERT_OK_AND_ASSIGN(const ErofsImage image, ReadErofsImage(directory + "/" + kMetaName));
  EXPECT_EQ(Lines(image), Lines(tree, settings));
  EXPECT_EQ(image.uuid, manifest.build_id);
  CheckReport(manifest.report, objects, tree);
  ASSERT_OK_AND_ASSIGN(const OpenIndex index, OpenIndexDirectory(directory));
  EXPECT_EQ(EncodeIndexManifest(index.manifest), EncodeIndexManifest(manifest));
  CheckTable(*index.table, image, tree);
}

TEST(IndexPropertyTest, RandomHostileListingsBecomeTheReferenceTree) {
  setenv("TMPDIR", FastDirectoryTemplate().c_str(), 1);
  const TempDir directory;
  for (uint64_t seed = 1; seed <= kSets && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    CheckSet(seed, directory.path());
  }
}

}  // namespace
}  // namespace bucketvol::testing
