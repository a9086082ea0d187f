#include "test/bucketd/bucket_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/file.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "test/bucketd/directory_bucket.h"
#include "test/bucketd/synthetic_bucket.h"

namespace bucketvol::bucketd {
namespace {

bool IsDirectory(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Names that begin with a dot are not buckets: our own area is one of them.
std::vector<std::string> SubDirectories(const std::string& root) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name[0] != '.' && IsDirectory(entry->path().string())) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

bool IsBucketName(absl::string_view name) {
  if (name.size() < 3 || name.size() > 63 || !absl::ascii_isalnum(name.front()) ||
      !absl::ascii_isalnum(name.back())) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-' || c == '.';
  });
}

absl::Status BucketStore::AddSynthetic(const SyntheticSpec& spec) {
  absl::MutexLock lock(&mu_);
  const bool added = buckets_.emplace(spec.name, std::make_shared<SyntheticBucket>(spec)).second;
  if (added) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("two buckets of one name: ", spec.name));
}

absl::Status BucketStore::OpenRoot(const std::string& root) {
  RETURN_IF_ERROR(Annotate(MakeDirectories(root, 0755), "--root"));
  absl::MutexLock lock(&mu_);
  root_ = root;
  for (const std::string& name : SubDirectories(root)) {
    ASSIGN_OR_RETURN(std::shared_ptr<Bucket> bucket, OpenDirectoryLocked(name));
    buckets_[name] = std::move(bucket);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Bucket>> BucketStore::OpenDirectoryLocked(const std::string& name) {
  return DirectoryBucket::Open(name, absl::StrCat(root_, "/", name), HiddenPathLocked(name), hub_);
}

std::string BucketStore::HiddenPathLocked(absl::string_view name) const {
  return absl::StrCat(root_, "/.bucketd/", name);
}

std::shared_ptr<Bucket> BucketStore::Find(absl::string_view name) {
  absl::MutexLock lock(&mu_);
  const auto found = buckets_.find(name);
  if (found == buckets_.end()) return AdoptLocked(name);
  if (found->second->writable() == nullptr || IsDirectory(absl::StrCat(root_, "/", name)))
    return found->second;
  buckets_.erase(found);
  return nullptr;
}

// A directory that someone else has made is a bucket from now on.
std::shared_ptr<Bucket> BucketStore::AdoptLocked(absl::string_view name) {
  const bool usable = !root_.empty() && IsPlainKey(name) && !absl::StrContains(name, "/") && name[0] != '.';
  if (!usable || !IsDirectory(absl::StrCat(root_, "/", name))) return nullptr;
  absl::StatusOr<std::shared_ptr<Bucket>> bucket = OpenDirectoryLocked(std::string(name));
  if (!bucket.ok()) {
    LogWarning("cannot serve a new directory: ", std::string(bucket.status().message()));
    return nullptr;
  }
  return buckets_[std::string(name)] = *std::move(bucket);
}

std::vector<std::shared_ptr<Bucket>> BucketStore::All() {
  std::string root;
  std::set<std::string> names;
  {
    absl::MutexLock lock(&mu_);
    root = root_;
    for (const auto& [name, bucket] : buckets_) names.insert(name);
  }
  for (std::string& name : SubDirectories(root)) names.insert(std::move(name));
  std::vector<std::shared_ptr<Bucket>> all;
  for (const std::string& name : names) {
    if (std::shared_ptr<Bucket> bucket = Find(name); bucket != nullptr) all.push_back(std::move(bucket));
  }
  return all;
}

Outcome<Nothing> BucketStore::Create(const std::string& name) {
  absl::MutexLock lock(&mu_);
  if (!IsBucketName(name)) return ServiceError{ErrorKind::kInvalidBucketName, "", {{"BucketName", name}}};
  if (buckets_.count(name) != 0) return ServiceError{ErrorKind::kBucketExists, "", {{"BucketName", name}}};
  if (root_.empty()) return ServiceError{ErrorKind::kAccessDenied, "bucketd was started without --root.", {}};
  if (const absl::Status status = MakeDirectories(absl::StrCat(root_, "/", name), 0755); !status.ok()) {
    return ServiceError{ErrorKind::kInternal, std::string(status.message()), {}};
  }
  return AdoptLocked(name) != nullptr ? Outcome<Nothing>(Nothing{}) : Outcome<Nothing>(ErrorKind::kInternal);
}

Outcome<Nothing> BucketStore::Remove(const std::string& name) {
  absl::MutexLock lock(&mu_);
  const auto found = buckets_.find(name);
  if (found == buckets_.end()) return ServiceError{ErrorKind::kNoSuchBucket, "", {{"BucketName", name}}};
  WritableBucket* bucket = found->second->writable();
  if (bucket == nullptr)
    return ServiceError{ErrorKind::kAccessDenied, "A synthetic bucket cannot be deleted.", {}};
  if (!bucket->empty()) return ServiceError{ErrorKind::kBucketNotEmpty, "", {{"BucketName", name}}};
  buckets_.erase(found);
  std::error_code ignored;
  std::filesystem::remove_all(absl::StrCat(root_, "/", name), ignored);
  std::filesystem::remove_all(HiddenPathLocked(name), ignored);
  return Nothing{};
}

}  // namespace bucketvol::bucketd
