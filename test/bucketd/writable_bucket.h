#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "test/bucketd/bucket.h"
#include "test/bucketd/service_error.h"
#include "test/bucketd/staged_file.h"

namespace bucketvol::bucketd {

/// When a write may take place. Checked in one step with the write.
struct WriteCondition {
  bool only_if_absent = false;
  std::string if_etag;  // Only over an object with this ETag; empty: any.
};

/// The writing side of a bucket. Thread-safe.
class WritableBucket {
 public:
  virtual ~WritableBucket() = default;

  /// A file to write a new object or a part into.
  virtual absl::StatusOr<StagedFile> Stage() = 0;
  /// Makes the staged bytes the object `key`, in one step; `meta` needs everything but size and modified.
  /// Returns the meta of the object as it is stored.
  virtual Outcome<ObjectMeta> Commit(absl::string_view key, StagedFile file, ObjectMeta meta,
                                     const WriteCondition& condition) = 0;
  /// Makes `key` a symlink; meta.symlink_target says where to.
  virtual Outcome<ObjectMeta> PutSymlink(absl::string_view key, ObjectMeta meta,
                                         const WriteCondition& condition) = 0;
  /// Changes the meta of an object in place, but not its size. NoSuchKey if there is none.
  virtual Outcome<Nothing> Update(absl::string_view key, const std::function<void(ObjectMeta&)>& change) = 0;
  /// Removes an object; none is fine.
  virtual Outcome<Nothing> Delete(absl::string_view key) = 0;
  virtual bool empty() = 0;
};

}  // namespace bucketvol::bucketd
