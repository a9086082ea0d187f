#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "test/bucketd/bucket.h"
#include "test/bucketd/inotify_hub.h"
#include "test/bucketd/service_error.h"
#include "test/bucketd/synthetic_spec.h"

namespace bucketvol::bucketd {

/// Every bucket that is served, by name. Thread-safe; a bucket that was found stays usable after its removal.
class BucketStore {
 public:
  BucketStore() = default;

  /// Serves the sub-directories of `root` as buckets and lets new ones be made there.
  absl::Status OpenRoot(const std::string& root);
  /// AlreadyExists if a bucket of that name is served.
  absl::Status AddSynthetic(const SyntheticSpec& spec);

  /// Null when there is none.
  std::shared_ptr<Bucket> Find(absl::string_view name);
  bool Exists(absl::string_view name) { return Find(name) != nullptr; }
  std::vector<std::shared_ptr<Bucket>> All();

  Outcome<Nothing> Create(const std::string& name);
  /// Refuses a bucket that holds objects.
  Outcome<Nothing> Remove(const std::string& name);

 private:
  absl::StatusOr<std::shared_ptr<Bucket>> OpenDirectoryLocked(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<Bucket> AdoptLocked(absl::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string HiddenPathLocked(absl::string_view name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<InotifyHub> hub_ = std::make_shared<InotifyHub>();
  absl::Mutex mu_;  // Rank: before the lock of any bucket.
  std::string root_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::shared_ptr<Bucket>, std::less<>> buckets_ ABSL_GUARDED_BY(mu_);
};

/// The rules both services share: 3–63 characters, lower-case letters, digits, hyphens and (S3) dots.
bool IsBucketName(absl::string_view name);

}  // namespace bucketvol::bucketd
