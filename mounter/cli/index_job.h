#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mounter/base/clock.h"
#include "mounter/base/executor.h"
#include "mounter/index/index_file.h"
#include "mounter/index/lister.h"
#include "mounter/objstore/object_store.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// One listing of a source into one index directory. Begins where the listing before it, of the same source
/// into the same directory, found keys, and leaves hints for the next one. Runs once; progress() may be read
/// by any thread meanwhile.
class IndexJob {
 public:
  /// Borrows `store`, `clock` and `executor` for its own life. `directory`: where the index appears.
  IndexJob(ObjectStore& store, const Clock& clock, Executor& executor, const VolumeOptions& options,
           std::string directory);

  /// Lists and builds; blocks. NotFound when a path holds no key and `allow_empty` is not set. Nothing is
  /// published then, nor after any other error or a cancellation.
  absl::StatusOr<IndexManifest> Run(const std::shared_ptr<Cancellation>& cancellation);

  const ListerProgress& progress() const { return lister_.progress(); }

 private:
  void LeaveHints() const;

  const Clock& clock_;
  const VolumeOptions options_;
  const std::string directory_;
  Lister lister_;
};

}  // namespace bucketvol
