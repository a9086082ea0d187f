#include "test/index/index_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_format.h"
#include "mounter/base/status_macros.h"

namespace bucketvol::testing {
namespace {

constexpr size_t kPage = 7;

std::string Line(uint32_t mode, uint32_t links, uint64_t size, int64_t seconds, uint32_t nanoseconds,
                 uint32_t uid, uint32_t gid) {
  const bool directory = S_ISDIR(mode);
  return absl::StrFormat("mode %o links %d size %d time %d.%09d owner %d:%d", mode, links,
                         directory ? 0 : size, seconds, nanoseconds, uid, gid);
}

uint32_t LinksOf(const ReferenceTree& tree, const std::string& path) {
  uint32_t links = 2;
  const std::string below = path.empty() ? "" : path + "/";
  for (auto it = tree.nodes.lower_bound(below); it != tree.nodes.end(); ++it) {
    if (it->first.compare(0, below.size(), below) != 0) break;
    const std::string rest = it->first.substr(below.size());
    links += it->second.directory && !rest.empty() && rest.find('/') == std::string::npos;
  }
  return links;
}

void AddLines(const ErofsNode& node, const std::string& path, std::map<std::string, std::string>& lines) {
  lines[path] = Describe(node);
  for (const auto& [name, child] : node.children)
    AddLines(child, path.empty() ? name : path + "/" + name, lines);
}

}  // namespace

std::string FastDirectoryTemplate() { return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; }

IndexBuildSettings TestSettings(const std::string& directory, const std::string& prefix) {
  IndexBuildSettings settings;
  settings.directory = directory;
  settings.source = "oss://bucket/" + prefix;
  settings.endpoint = "http://127.0.0.1:9000";
  settings.options = "umask=022";
  settings.prefix = prefix;
  settings.now = absl::FromUnixNanos(1'700'000'000'123'456'789);
  return settings;
}

absl::StatusOr<IndexManifest> BuildIndex(const IndexBuildSettings& settings,
                                         const std::vector<TestObject>& objects) {
  ASSIGN_OR_RETURN(auto builder, IndexBuilder::Create(settings));
  std::vector<ListedObject> page;
  for (const TestObject& object : objects) {
    page.push_back({object.key, object.etag, object.size, object.modified_ms, ListedObject::Kind::kNormal,
                    object.archived});
    if (page.size() < kPage) continue;
    RETURN_IF_ERROR(builder->Add(page));
    page.clear();
  }
  RETURN_IF_ERROR(builder->Add(page));
  IndexReport listing;
  listing.list_requests = 12;
  listing.list_streams_peak = 3;
  listing.build_time = absl::Milliseconds(1500);
  return builder->Finish(listing);
}

std::string Describe(const ReferenceTree& tree, const std::string& path, const IndexBuildSettings& settings) {
  const ReferenceNode& node = tree.nodes.at(path);
  const absl::Time time =
      node.object != nullptr ? absl::FromUnixMillis(node.object->modified_ms) : settings.now;
  const int64_t seconds = absl::ToUnixSeconds(time);
  const auto nanoseconds =
      static_cast<uint32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds)));
  if (node.directory) {
    return Line(S_IFDIR | (0777 & ~settings.umask), LinksOf(tree, path), 0, seconds, nanoseconds,
                settings.uid, settings.gid);
  }
  return Line(S_IFREG | (0666 & ~settings.umask), 1, node.object->size, seconds, nanoseconds, settings.uid,
              settings.gid);
}

std::string Describe(const ErofsNode& node) {
  return Line(node.mode, node.links, node.size, node.mtime_seconds, node.mtime_nanoseconds, node.uid,
              node.gid);
}

std::map<std::string, std::string> Lines(const ReferenceTree& tree, const IndexBuildSettings& settings) {
  std::map<std::string, std::string> lines;
  for (const auto& [path, node] : tree.nodes) lines[path] = Describe(tree, path, settings);
  return lines;
}

std::map<std::string, std::string> Lines(const ErofsImage& image) {
  std::map<std::string, std::string> lines;
  AddLines(image.root, "", lines);
  return lines;
}

}  // namespace bucketvol::testing
