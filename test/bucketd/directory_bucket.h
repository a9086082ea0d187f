#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/unique_fd.h"
#include "test/bucketd/bucket.h"
#include "test/bucketd/directory_watch.h"
#include "test/bucketd/journal.h"
#include "test/bucketd/object_record.h"
#include "test/bucketd/writable_bucket.h"

namespace bucketvol::bucketd {

/// A bucket that is a directory: each regular file is an object whose key is its relative path. What people
/// put there shows up at once (inotify), and what is written here lies there as a plain file, if its key can
/// be a path; objects with other keys
/// (`a//b`, `..`, `a/`, `a/b` beside a file `a`, names over 255 bytes) are kept aside.
///
/// Beside the bucket's directory lies an area of our own, HIDDEN, with `journal` (the metadata of every
/// object: ETag, headers, symlinks), `aside/` (files of objects that cannot be plain) and `staged/` (files
/// being written; emptied at the start). An index of all keys is in memory. A plain file that someone else
/// has changed loses its metadata; its ETag is its MD5.
class DirectoryBucket final : public Bucket, public WritableBucket {
 public:
  /// Reads the journal of `hidden` (made if missing) and the tree of `directory`.
  static absl::StatusOr<std::shared_ptr<DirectoryBucket>> Open(const std::string& name,
                                                               const std::string& directory,
                                                               const std::string& hidden,
                                                               std::shared_ptr<InotifyHub> hub);

  int64_t created() const override { return created_; }
  void Scan(absl::string_view from, Bound bound, EntryVisitor& visitor) override;
  Outcome<OpenObject> Open(absl::string_view key) override;
  WritableBucket* writable() override { return this; }

  absl::StatusOr<StagedFile> Stage() override;
  Outcome<ObjectMeta> Commit(absl::string_view key, StagedFile file, ObjectMeta meta,
                             const WriteCondition& condition) override;
  Outcome<ObjectMeta> PutSymlink(absl::string_view key, ObjectMeta meta,
                                 const WriteCondition& condition) override;
  Outcome<Nothing> Update(absl::string_view key, const std::function<void(ObjectMeta&)>& change) override;
  Outcome<Nothing> Delete(absl::string_view key) override;
  bool empty() override;

 private:
  using Index = std::map<std::string, ObjectRecord, std::less<>>;

  DirectoryBucket(std::string name, std::string directory, std::string hidden,
                  std::shared_ptr<InotifyHub> hub);
  absl::Status Load() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReplayLocked(absl::string_view entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CompactJournalLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Following the disk.
  void RefreshLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RescanSometimesLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RescanLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddTreeLocked(const std::string& relative) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RefreshTreeLocked(const std::string& relative) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RefreshFileLocked(const std::string& relative) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NoteFileLocked(const std::string& key, uint64_t size, int64_t mtime_ns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ForgetVanishedLocked(absl::string_view prefix) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // One object.
  UniqueFd OpenDataLocked(absl::string_view key, ObjectRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ScanLocked(Index::iterator next, EntryVisitor& visitor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void KeepComputedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool ComputeEtagLocked(absl::string_view key, ObjectRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<ErrorKind> CheckLocked(absl::string_view key, const WriteCondition& condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status PlaceLocked(absl::string_view key, StagedFile& file, ObjectRecord& record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool PlacePlainLocked(absl::string_view key, StagedFile& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Outcome<ObjectMeta> StoreLocked(absl::string_view key, ObjectRecord record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveDataLocked(absl::string_view key, const ObjectRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveEmptyParentsLocked(absl::string_view key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::string PlainPath(absl::string_view key) const;
  std::string AsidePath(absl::string_view aside) const;

  const std::string directory_;
  const std::string hidden_;
  int64_t created_ = 0;  // Set once, before anyone else sees the bucket.

  absl::Mutex mu_;  // Held for a whole page of a listing and for whole writes. Rank: after BucketStore's.
  Index index_ ABSL_GUARDED_BY(mu_);
  DirectoryWatch watch_ ABSL_GUARDED_BY(mu_);
  bool watching_all_ ABSL_GUARDED_BY(mu_) = true;  // Else the kernel refused a watch: look now and then.
  absl::Time next_rescan_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();  // When it did.
  std::optional<Journal> journal_ ABSL_GUARDED_BY(mu_);
  uint64_t last_aside_ ABSL_GUARDED_BY(mu_) = 0;
};

/// True if `key` can be the path of a plain file: no empty, `.` or `..` segment, no NUL, no segment over 255
/// bytes.
bool IsPlainKey(absl::string_view key);

}  // namespace bucketvol::bucketd
