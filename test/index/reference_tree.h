#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "mounter/index/index_report.h"

namespace bucketvol::testing {

/// An object for tests: owns its strings.
struct TestObject {
  std::string key;
  uint64_t size = 0;
  int64_t modified_ms = 0;
  std::string etag = "";
  bool archived = false;
};

struct ReferenceNode {
  bool directory = false;
  const TestObject* object = nullptr;  // The file's object, or the directory's marker if it has one.
};

/// What a set of keys must look like as a tree, written as plainly as possible.
struct ReferenceTree {
  std::map<std::string, ReferenceNode> nodes;  // By path without slashes at its ends; "" is the root.
  std::map<SkipReason, uint64_t> skipped;
};

inline ReferenceTree MakeReferenceTree(const std::string& prefix, const std::vector<TestObject>& objects) {
  ReferenceTree tree;
  tree.nodes[""].directory = true;
  std::map<std::string, const TestObject*> files;
  for (const TestObject& object : objects) {
    const std::string path = object.key.substr(prefix.size());
    std::vector<std::string> segments = absl::StrSplit(path, '/');
    const bool marker = segments.back().empty();
    if (marker) segments.pop_back();
    bool skip = false;
    for (const std::string& segment : segments) {
      const auto reason = segment.empty()                           ? SkipReason::kEmptySegment
                          : segment == "." || segment == ".."       ? SkipReason::kDotSegment
                          : segment.size() > 255                    ? SkipReason::kLongSegment
                          : segment.find('\0') != std::string::npos ? SkipReason::kNulByte
                                                                    : SkipReason::kDirectoryData;
      if (reason == SkipReason::kDirectoryData) continue;
      ++tree.skipped[reason];
      skip = true;
      break;
    }
    if (skip) continue;
    std::string at;
    for (size_t i = 0; i < segments.size(); ++i) {
      at += (i == 0 ? "" : "/") + segments[i];
      if (i + 1 < segments.size() || marker) tree.nodes[at].directory = true;
    }
    if (!marker) files[at] = &object;
    if (marker) tree.nodes[at].object = &object;
    if (marker && object.size > 0) ++tree.skipped[SkipReason::kDirectoryData];
  }
  for (const auto& [path, object] : files) {
    if (tree.nodes.count(path) != 0) {
      ++tree.skipped[SkipReason::kShadowedByDirectory];
    } else {
      tree.nodes[path] = {false, object};
    }
  }
  return tree;
}

}  // namespace bucketvol::testing
