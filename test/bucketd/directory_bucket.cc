#include "test/bucketd/directory_bucket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "test/bucketd/conditions.h"

namespace bucketvol::bucketd {
namespace {

constexpr absl::Duration kRescanPause = absl::Milliseconds(200);
constexpr uint64_t kJournalSlack = 1000;  // Superseded entries that are not worth a rewrite.

class FileBody final : public BodySource {
 public:
  explicit FileBody(UniqueFd fd) : fd_(std::move(fd)) {}
  bool Read(uint64_t offset, char* out, size_t size) override {
    while (size > 0) {
      const ssize_t got = pread(fd_.get(), out, size, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      out += got, offset += static_cast<uint64_t>(got), size -= static_cast<size_t>(got);
    }
    return true;
  }

 private:
  const UniqueFd fd_;
};

int64_t MtimeOf(const struct stat& status) {
  return status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
}

ObjectRecord BareRecord(uint64_t size, int64_t mtime_ns) {
  ObjectRecord record;
  record.meta.size = size;
  record.mtime_ns = mtime_ns;
  record.meta.modified = mtime_ns / 1'000'000'000;
  return record;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

}  // namespace

bool IsPlainKey(absl::string_view key) {
  if (key.empty() || key.size() > 3000 || key.find('\0') != absl::string_view::npos) return false;
  const std::vector<absl::string_view> segments = absl::StrSplit(key, '/');
  return std::all_of(segments.begin(), segments.end(), [](absl::string_view segment) {
    return !segment.empty() && segment != "." && segment != ".." && segment.size() <= 255;
  });
}

DirectoryBucket::DirectoryBucket(std::string name, std::string directory, std::string hidden,
                                 std::shared_ptr<InotifyHub> hub)
    : Bucket(std::move(name)),
      directory_(std::move(directory)),
      hidden_(std::move(hidden)),
      watch_(directory_, std::move(hub)) {}

absl::StatusOr<std::shared_ptr<DirectoryBucket>> DirectoryBucket::Open(const std::string& name,
                                                                       const std::string& directory,
                                                                       const std::string& hidden,
                                                                       std::shared_ptr<InotifyHub> hub) {
  std::shared_ptr<DirectoryBucket> bucket(new DirectoryBucket(name, directory, hidden, std::move(hub)));
  absl::MutexLock lock(&bucket->mu_);
  RETURN_IF_ERROR(Annotate(bucket->Load(), absl::StrCat("bucket ", name)));
  return bucket;
}

absl::Status DirectoryBucket::Load() {
  struct stat status = {};
  if (stat(directory_.c_str(), &status) != 0) return ErrnoToStatus(errno, directory_);
  created_ = status.st_ctim.tv_sec;
  std::error_code ignored;
  std::filesystem::remove_all(hidden_ + "/staged", ignored);
  RETURN_IF_ERROR(MakeDirectories(hidden_ + "/staged"));
  RETURN_IF_ERROR(MakeDirectories(hidden_ + "/aside"));
  const auto replay = [this](absl::string_view entry) {
    mu_.AssertHeld();
    ReplayLocked(entry);
  };
  ASSIGN_OR_RETURN(journal_, Journal::Open(hidden_ + "/journal", replay));
  RescanLocked();
  return journal_->entries() > 2 * index_.size() + kJournalSlack ? CompactJournalLocked() : absl::OkStatus();
}

void DirectoryBucket::ReplayLocked(absl::string_view entry) {
  std::optional<DecodedRecord> decoded = DecodeRecord(entry);
  if (!decoded.has_value()) return;
  index_.erase(decoded->key);
  if (!decoded->record.has_value()) return;
  uint64_t number = 0;
  if (absl::SimpleHexAtoi(decoded->record->aside, &number)) last_aside_ = std::max(last_aside_, number);
  index_.emplace(std::move(decoded->key), *std::move(decoded->record));
}

absl::Status DirectoryBucket::CompactJournalLocked() {
  const auto write_all = [this](absl::FunctionRef<void(absl::string_view)> append) {
    mu_.AssertHeld();
    for (const auto& [key, record] : index_) append(EncodeRecord(key, &record));
  };
  ASSIGN_OR_RETURN(journal_, Journal::Rewrite(hidden_ + "/journal", write_all));
  return absl::OkStatus();
}

std::string DirectoryBucket::PlainPath(absl::string_view key) const {
  return absl::StrCat(directory_, "/", key);
}
std::string DirectoryBucket::AsidePath(absl::string_view aside) const {
  return absl::StrCat(hidden_, "/aside/", aside);
}

void DirectoryBucket::RefreshLocked() {
  if (!watching_all_) return RescanSometimesLocked();
  const auto on_change = [this](DirectoryWatch::Change change, const std::string& path) {
    mu_.AssertHeld();
    if (change == DirectoryWatch::Change::kUnknown) return RescanLocked();
    if (change == DirectoryWatch::Change::kDirectory) return RefreshTreeLocked(path);
    RefreshFileLocked(path);
  };
  watch_.Drain(on_change);
}

// Without watches: seldom enough that looking takes a tenth of the time at most.
void DirectoryBucket::RescanSometimesLocked() {
  const absl::Time start = absl::Now();
  if (start < next_rescan_) return;
  RescanLocked();
  const absl::Time end = absl::Now();
  next_rescan_ = end + std::max(kRescanPause, 10 * (end - start));
}

void DirectoryBucket::RescanLocked() {
  ForgetVanishedLocked("");
  AddTreeLocked("");
}

void DirectoryBucket::RefreshTreeLocked(const std::string& relative) {
  watch_.Remove(relative);
  ForgetVanishedLocked(absl::StrCat(relative, "/"));
  AddTreeLocked(relative);
}

// The watch comes before the reading: what is added meanwhile is seen by one of both.
void DirectoryBucket::AddTreeLocked(const std::string& relative) {
  if (!watch_.Add(relative) && watching_all_) {
    watching_all_ = false;
    LogWarning(
        "too many directories to watch (fs.inotify.max_user_watches); changes from outside show late: ",
        name());
  }
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(PlainPath(relative).c_str()));
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory.get())) {
    const absl::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = relative.empty() ? std::string(name) : absl::StrCat(relative, "/", name);
    struct stat status = {};
    if (fstatat(dirfd(directory.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(status.st_mode)) AddTreeLocked(path);
    if (S_ISREG(status.st_mode)) NoteFileLocked(path, static_cast<uint64_t>(status.st_size), MtimeOf(status));
  }
}

void DirectoryBucket::RefreshFileLocked(const std::string& relative) {
  struct stat status = {};
  if (lstat(PlainPath(relative).c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    return NoteFileLocked(relative, static_cast<uint64_t>(status.st_size), MtimeOf(status));
  }
  const auto found = index_.find(relative);
  if (found != index_.end() && found->second.aside.empty()) index_.erase(found);
}

void DirectoryBucket::NoteFileLocked(const std::string& key, uint64_t size, int64_t mtime_ns) {
  const auto found = index_.find(key);
  if (found == index_.end()) {
    index_.emplace(key, BareRecord(size, mtime_ns));
    return;
  }
  ObjectRecord& record = found->second;
  const bool same = record.aside.empty() && record.meta.size == size && record.mtime_ns == mtime_ns;
  if (same) return;
  if (!record.aside.empty()) RemoveDataLocked(key, record);
  record = BareRecord(size, mtime_ns);
}

// Drops the objects with this prefix whose files are gone.
void DirectoryBucket::ForgetVanishedLocked(absl::string_view prefix) {
  for (auto next = index_.lower_bound(prefix);
       next != index_.end() && absl::StartsWith(next->first, prefix);) {
    const ObjectRecord& record = next->second;
    struct stat status = {};
    const bool plain = record.aside.empty();
    const std::string path = plain ? PlainPath(next->first) : AsidePath(record.aside);
    const bool there =
        record.aside == kNoFile || (lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode));
    next = there ? std::next(next) : index_.erase(next);
  }
}

void DirectoryBucket::Scan(absl::string_view from, Bound bound, EntryVisitor& visitor) {
  absl::MutexLock lock(&mu_);
  RefreshLocked();
  ScanLocked(bound == Bound::kAt ? index_.lower_bound(from) : index_.upper_bound(from), visitor);
  KeepComputedLocked();
}

void DirectoryBucket::ScanLocked(Index::iterator next, EntryVisitor& visitor) {
  while (next != index_.end()) {
    ObjectRecord& record = next->second;
    if (record.meta.etag.empty() && !ComputeEtagLocked(next->first, record)) {
      next = index_.erase(next);
      continue;
    }
    const bool symlink = record.meta.type == ObjectType::kSymlink;
    const uint64_t size = symlink ? record.meta.symlink_target.size() : record.meta.size;
    const EntryVisitor::Step step = visitor.Visit({next->first, record.meta.etag, size, record.meta.modified,
                                                   record.meta.type, record.meta.storage_class});
    if (step == EntryVisitor::Step::kStop) return;
    if (step == EntryVisitor::Step::kNext) {
      ++next;
      continue;
    }
    const std::optional<std::string> end = PrefixEnd(visitor.skip_prefix());
    next = end.has_value() ? index_.lower_bound(*end) : index_.end();
  }
}

// Opens the file and brings the record up to date with it.
UniqueFd DirectoryBucket::OpenDataLocked(absl::string_view key, ObjectRecord& record) {
  const bool plain = record.aside.empty();
  UniqueFd fd(
      open((plain ? PlainPath(key) : AsidePath(record.aside)).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status = {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return UniqueFd();
  const auto size = static_cast<uint64_t>(status.st_size);
  if (plain && (record.meta.size != size || record.mtime_ns != MtimeOf(status))) {
    record = BareRecord(size, MtimeOf(status));
  }
  return fd;
}

bool DirectoryBucket::ComputeEtagLocked(absl::string_view key, ObjectRecord& record) {
  const UniqueFd fd = OpenDataLocked(key, record);
  if (!fd.valid()) return false;
  const absl::StatusOr<FileDigests> digests = DigestFile(fd.get(), record.meta.size);
  if (!digests.ok()) return false;
  record.meta.etag = absl::BytesToHexString(digests->md5);
  record.meta.crc64 = digests->crc64;
  journal_->AppendLater(EncodeRecord(key, &record));
  return true;
}

// What is not written is computed again after the next start.
void DirectoryBucket::KeepComputedLocked() {
  if (const absl::Status status = journal_->Flush(); !status.ok()) LogWarning(std::string(status.message()));
}

Outcome<OpenObject> DirectoryBucket::Open(absl::string_view key) {
  absl::MutexLock lock(&mu_);
  RefreshLocked();
  const auto found = index_.find(key);
  if (found == index_.end()) return ErrorKind::kNoSuchKey;
  ObjectRecord& record = found->second;
  OpenObject object;
  if (record.aside != kNoFile) {
    UniqueFd fd = OpenDataLocked(key, record);
    if (!fd.valid() || (record.meta.etag.empty() && !ComputeEtagLocked(key, record)))
      return ErrorKind::kNoSuchKey;
    object.body = std::make_unique<FileBody>(std::move(fd));
    KeepComputedLocked();
  }
  object.meta = record.meta;
  return object;
}

absl::StatusOr<StagedFile> DirectoryBucket::Stage() { return StagedFile::Create(hidden_ + "/staged"); }

std::optional<ErrorKind> DirectoryBucket::CheckLocked(absl::string_view key,
                                                      const WriteCondition& condition) {
  const auto found = index_.find(key);
  if (condition.only_if_absent && found != index_.end()) return ErrorKind::kFileExists;
  if (condition.if_etag.empty()) return std::nullopt;
  if (found == index_.end()) return ErrorKind::kNoSuchKey;
  if (found->second.meta.etag.empty()) ComputeEtagLocked(key, found->second);
  return EtagListContains(condition.if_etag, found->second.meta.etag)
             ? std::nullopt
             : std::optional(ErrorKind::kPreconditionFailed);
}

bool DirectoryBucket::PlacePlainLocked(absl::string_view key, StagedFile& file) {
  if (!IsPlainKey(key)) return false;
  const std::string path = PlainPath(key);
  const std::string parent = path.substr(0, path.rfind('/'));
  if (!MakeDirectories(parent, 0755).ok()) return false;
  if (rename(file.path().c_str(), path.c_str()) != 0) {
    RemoveEmptyParentsLocked(key);
    return false;
  }
  file.Taken();
  return true;
}

absl::Status DirectoryBucket::PlaceLocked(absl::string_view key, StagedFile& file, ObjectRecord& record) {
  fchmod(file.fd(), 0644);
  struct stat status = {};
  if (fstat(file.fd(), &status) != 0) return ErrnoToStatus(errno, "cannot look at a new object");
  record.meta.size = static_cast<uint64_t>(status.st_size);
  record.mtime_ns = MtimeOf(status);
  record.meta.modified = status.st_mtim.tv_sec;
  if (PlacePlainLocked(key, file)) return absl::OkStatus();
  record.aside = absl::StrCat(absl::Hex(++last_aside_, absl::kZeroPad16));
  if (rename(file.path().c_str(), AsidePath(record.aside).c_str()) != 0) {
    return ErrnoToStatus(errno, "cannot keep an object aside");
  }
  file.Taken();
  return absl::OkStatus();
}

Outcome<ObjectMeta> DirectoryBucket::StoreLocked(absl::string_view key, ObjectRecord record) {
  const absl::Status status = journal_->Append(EncodeRecord(key, &record));
  if (!status.ok()) return ServiceError{ErrorKind::kInternal, std::string(status.message()), {}};
  ObjectRecord& place = index_[std::string(key)];
  // A plain file was replaced by the rename already, unless the new object lies aside.
  if (!place.aside.empty() || !record.aside.empty()) RemoveDataLocked(key, place);
  place = std::move(record);
  return place.meta;
}

Outcome<ObjectMeta> DirectoryBucket::Commit(absl::string_view key, StagedFile file, ObjectMeta meta,
                                            const WriteCondition& condition) {
  absl::MutexLock lock(&mu_);
  RefreshLocked();
  if (const auto refused = CheckLocked(key, condition); refused.has_value()) return *refused;
  ObjectRecord record;
  record.meta = std::move(meta);
  if (const absl::Status status = PlaceLocked(key, file, record); !status.ok()) {
    return ServiceError{ErrorKind::kInternal, std::string(status.message()), {}};
  }
  return StoreLocked(key, std::move(record));
}

Outcome<ObjectMeta> DirectoryBucket::PutSymlink(absl::string_view key, ObjectMeta meta,
                                                const WriteCondition& condition) {
  absl::MutexLock lock(&mu_);
  RefreshLocked();
  if (const auto refused = CheckLocked(key, condition); refused.has_value()) return *refused;
  ObjectRecord record;
  record.aside = std::string(kNoFile);
  record.mtime_ns = meta.modified * 1'000'000'000;
  record.meta = std::move(meta);
  return StoreLocked(key, std::move(record));
}

Outcome<Nothing> DirectoryBucket::Update(absl::string_view key,
                                         const std::function<void(ObjectMeta&)>& change) {
  absl::MutexLock lock(&mu_);
  RefreshLocked();
  const auto found = index_.find(key);
  if (found == index_.end()) return ErrorKind::kNoSuchKey;
  change(found->second.meta);
  const absl::Status status = journal_->Append(EncodeRecord(key, &found->second));
  if (!status.ok()) return ServiceError{ErrorKind::kInternal, std::string(status.message()), {}};
  return Nothing{};
}

Outcome<Nothing> DirectoryBucket::Delete(absl::string_view key) {
  absl::MutexLock lock(&mu_);
  RefreshLocked();
  const auto found = index_.find(key);
  if (found == index_.end()) return Nothing{};
  const absl::Status status = journal_->Append(EncodeRecord(key, nullptr));
  if (!status.ok()) return ServiceError{ErrorKind::kInternal, std::string(status.message()), {}};
  RemoveDataLocked(key, found->second);
  index_.erase(found);
  return Nothing{};
}

void DirectoryBucket::RemoveDataLocked(absl::string_view key, const ObjectRecord& record) {
  if (record.aside == kNoFile) return;
  if (!record.aside.empty()) {
    unlink(AsidePath(record.aside).c_str());
  } else if (IsPlainKey(key) && unlink(PlainPath(key).c_str()) == 0) {
    RemoveEmptyParentsLocked(key);
  }
}

// A directory is there for the sake of its objects: one that holds none would stand in the way of an object
// of its name.
void DirectoryBucket::RemoveEmptyParentsLocked(absl::string_view key) {
  for (size_t slash = key.rfind('/'); slash != absl::string_view::npos && slash > 0;
       slash = key.rfind('/', slash - 1)) {
    if (rmdir(PlainPath(key.substr(0, slash)).c_str()) != 0) return;
  }
}

bool DirectoryBucket::empty() {
  absl::MutexLock lock(&mu_);
  RefreshLocked();
  return index_.empty();
}

}  // namespace bucketvol::bucketd
