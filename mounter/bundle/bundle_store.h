#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mounter/base/unique_fd.h"
#include "mounter/bundle/bundle_manifest.h"
#include "mounter/bundle/program_files.h"

namespace bucketvol {

/// A private copy of programs and all that they run from, which no upgrade or removal of the originals
/// touches. While this lives the copy is not collected.
class Bundle {
 public:
  Bundle(std::string directory, UniqueFd lock) : directory_(std::move(directory)), lock_(std::move(lock)) {}
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  UniqueFd lock_;  // See directory_lock.h.
};

/// The bundles of a state directory: STATE_DIR/bundle/HASH/, named by their contents, made once for each
/// version of the programs, published whole by a rename. Processes of one machine share it. Where the state
/// directory may not hold programs (noexec), STATE_DIR/bundle is a file system in memory of its own.
///
/// A copy is read whole and compared with its hashes when it is made, and once after each boot: what was not
/// yet on the disk when the power failed is found then. In between its files are compared by identity, which
/// no change of a file leaves as it was; a mismatch makes it anew.
class BundleStore {
 public:
  explicit BundleStore(const std::string& state_dir);

  /// Finds the bundle of `files` as they are now, or makes it.
  absl::StatusOr<Bundle> Provide(const std::vector<BundleFile>& files) const;

  /// Removes the bundles that nobody holds, and unfinished ones; keeps those of `keep`.
  void Collect(const std::string& keep) const;

 private:
  absl::Status Prepare() const;
  absl::StatusOr<Bundle> Find(const std::vector<BundleFile>& files) const;
  absl::StatusOr<Bundle> Make(const std::vector<BundleFile>& files) const;
  /// Whether the bundle in `directory` holds what its manifest says.
  absl::StatusOr<BundleManifest> Verify(const std::string& directory) const;

  const std::string directory_;
};

}  // namespace bucketvol
