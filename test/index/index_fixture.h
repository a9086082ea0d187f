#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mounter/index/index_builder.h"
#include "test/index/reference_tree.h"
#include "test/support/erofs_reader.h"

namespace bucketvol::testing {

/// Where tests build: memory if there is any, so that a thousand builds do not wait for the disk.
std::string FastDirectoryTemplate();

/// Settings with a fixed time.
IndexBuildSettings TestSettings(const std::string& directory, const std::string& prefix = "");

/// Runs a whole build, in pages of a few objects.
absl::StatusOr<IndexManifest> BuildIndex(const IndexBuildSettings& settings,
                                         const std::vector<TestObject>& objects);

/// What a node of a tree shows, in one line: compared as text, so that a difference is readable.
std::string Describe(const ReferenceTree& tree, const std::string& path, const IndexBuildSettings& settings);
std::string Describe(const ErofsNode& node);

/// A tree as lines by path.
std::map<std::string, std::string> Lines(const ReferenceTree& tree, const IndexBuildSettings& settings);
std::map<std::string, std::string> Lines(const ErofsImage& image);

}  // namespace bucketvol::testing
