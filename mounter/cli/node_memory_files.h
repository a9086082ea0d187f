#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// The files of a NodeLedger, which all mounts with the same run directory share. They stay when the last one
/// has gone. Workers, which cannot open them, get the descriptors by way of their guards.
class NodeMemoryFiles {
 public:
  NodeMemoryFiles() = default;
  /// Makes what is missing. The name tells the layout, so that versions which differ in it do not meet.
  static absl::StatusOr<NodeMemoryFiles> Open(const std::string& run_dir);

  /// Table and locks, in this order; none when not open.
  std::vector<int> Numbers() const;

 private:
  UniqueFd table_;
  UniqueFd locks_;
};

}  // namespace bucketvol
