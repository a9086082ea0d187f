#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mounter/base/unique_fd.h"
#include "mounter/cli/index_store.h"
#include "mounter/index/index_file.h"

namespace bucketvol {

/// The index that a worker serves, opened, and how it reaches the workers that come after.
///
/// A successor must serve the very index whose image is mounted. Under the index's name another build may lie
/// by then; so the files travel as open descriptors, through the guard.
class ServedIndex {
 public:
  /// Opens what `manifest` describes in the directory of a lease that still keeps others from building there.
  static absl::StatusOr<ServedIndex> Open(IndexManifest manifest, IndexLease lease);
  /// Takes over what Legacy() of an earlier worker gave. `meta_path`: as announced by it, for messages.
  static absl::StatusOr<ServedIndex> Inherit(const std::string& meta_path, std::vector<UniqueFd> legacy);

  const IndexManifest& manifest() const { return manifest_; }
  const ObjectTable& table() const { return *table_; }
  IndexLease& lease() { return lease_; }
  const IndexLease& lease() const { return lease_; }
  /// The metadata image; none in a successor, which does not need it.
  const UniqueFd& meta() const { return meta_; }
  std::string meta_path() const;
  /// Descriptors for successors, in the order that Inherit expects. Borrowed.
  std::vector<int> Legacy() const;

 private:
  ServedIndex(IndexManifest manifest, IndexLease lease)
      : manifest_(std::move(manifest)), lease_(std::move(lease)) {}

  IndexManifest manifest_;
  IndexLease lease_;
  UniqueFd meta_;
  UniqueFd manifest_file_;
  UniqueFd table_file_;
  std::unique_ptr<ObjectTable> table_;
};

}  // namespace bucketvol
