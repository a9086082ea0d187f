#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "test/bucketd/bucket.h"
#include "test/bucketd/service_error.h"
#include "test/bucketd/staged_file.h"

namespace bucketvol::bucketd {

/// A part that was uploaded.
struct UploadPart {
  std::shared_ptr<StagedFile> file;  // Sealed; gone with the last reference.
  std::string md5;                   // Raw; its hex is the ETag.
  uint64_t crc64 = 0;
  uint64_t size = 0;
  int64_t modified = 0;
  std::vector<std::pair<std::string, std::string>> checksums;
};

/// A multipart upload that is neither completed nor aborted.
struct Upload {
  std::string bucket;
  std::string key;
  int64_t initiated = 0;
  ObjectMeta meta;  // Headers and storage class of the object to be.
  std::map<int, UploadPart> parts;
};

/// The uploads in progress, in memory: a restart aborts them. Thread-safe; callers get copies, in which part
/// files are shared.
class UploadStore {
 public:
  /// Returns the new upload's id.
  std::string Begin(Upload upload);
  /// NoSuchUpload unless the id is one of that bucket and key.
  Outcome<Upload> Find(absl::string_view bucket, absl::string_view key, absl::string_view id);
  Outcome<Nothing> AddPart(absl::string_view bucket, absl::string_view key, absl::string_view id, int number,
                           UploadPart part);
  /// Removes an upload and returns it; only one caller gets it.
  Outcome<Upload> Take(absl::string_view bucket, absl::string_view key, absl::string_view id);
  /// Puts back what Take gave, when it turned out unusable.
  void PutBack(absl::string_view id, Upload upload);
  /// Uploads of a bucket in order of key and id.
  std::vector<std::pair<std::string, Upload>> List(absl::string_view bucket);

 private:
  absl::Mutex mu_;  // Leaf.
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, Upload, std::less<>> uploads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol::bucketd
