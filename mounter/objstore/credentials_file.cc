#include "mounter/objstore/credentials_file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/objstore/credentials_parse.h"

namespace bucketvol {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;
// A rotation is noticed within this time; one stat per worker in it costs nothing.
constexpr absl::Duration kLookInterval = absl::Seconds(10);
// Longer than any program takes to write a few hundred bytes.
constexpr absl::Duration kSettleTime = absl::Seconds(1);
constexpr mode_t kForbiddenBits = 0177;  // Anything for group and others, and execution.
constexpr char kSystemPasswdFile[] = "/etc/passwd-ossfs";

constexpr const char* kTokenFiles[] = {"AccessKeyId", "AccessKeySecret", "SecurityToken"};

absl::StatusOr<struct stat> StatRegularFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    // A home directory like /dev/null makes ENOTDIR of what is simply not there.
    return ErrnoToStatus(errno == ENOTDIR ? ENOENT : errno, path);
  }
  // A pipe or device could block, and cannot be read again.
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat("not a regular file: ", path));
  return info;
}

absl::StatusOr<std::string> ReadRegularFile(const std::string& path) {
  ASSIGN_OR_RETURN([[maybe_unused]] const struct stat info, StatRegularFile(path));
  return ReadWholeFile(path, kMaxFileBytes);
}

absl::Status CheckPasswdMode(const std::string& path) {
  ASSIGN_OR_RETURN(const struct stat info, StatRegularFile(path));
  const mode_t forbidden = path == kSystemPasswdFile ? kForbiddenBits & ~mode_t{S_IRGRP} : kForbiddenBits;
  if ((info.st_mode & forbidden) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrFormat("password file must be readable by its owner only, its mode is %04o; run: chmod 600 %s",
                      info.st_mode & 07777, path));
}

absl::StatusOr<Credentials> LoadTokenDirectory(const std::string& path) {
  std::string values[std::size(kTokenFiles)];
  for (size_t i = 0; i < std::size(kTokenFiles); ++i) {
    absl::StatusOr<std::string> content = ReadRegularFile(absl::StrCat(path, "/", kTokenFiles[i]));
    if (absl::IsNotFound(content.status())) continue;
    RETURN_IF_ERROR(content.status());
    values[i] = *std::move(content);
  }
  return MakeCredentials({absl::StrCat("directory ", path), kTokenFiles[0], kTokenFiles[1]}, values[0],
                         values[1], values[2]);
}

std::vector<std::string> WatchedFiles(const CredentialFile& file) {
  if (file.format != CredentialFormat::kTokenDirectory) return {file.path};
  return {absl::StrCat(file.path, "/", kTokenFiles[0])};
}

std::vector<std::string> ReadFiles(const CredentialFile& file) {
  if (file.format != CredentialFormat::kTokenDirectory) return {file.path};
  std::vector<std::string> paths;
  for (const char* name : kTokenFiles) paths.push_back(absl::StrCat(file.path, "/", name));
  return paths;
}

FileStamp::One StampOne(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_size, absl::TimeFromTimespec(info.st_mtim),
          absl::TimeFromTimespec(info.st_ctim)};
}

}  // namespace

absl::StatusOr<Credentials> LoadCredentialFile(const CredentialFile& file) {
  if (file.format == CredentialFormat::kTokenDirectory) return LoadTokenDirectory(file.path);
  if (file.format == CredentialFormat::kPasswd) RETURN_IF_ERROR(CheckPasswdMode(file.path));
  ASSIGN_OR_RETURN(const std::string content, ReadRegularFile(file.path));
  switch (file.format) {
    case CredentialFormat::kPasswd:
      return ParsePasswdFile(content, file.selector, file.path);
    case CredentialFormat::kAws:
      return ParseAwsCredentials(content, file.selector, file.path);
    case CredentialFormat::kOssutil:
      return ParseOssutilConfig(content, file.selector, file.path);
    case CredentialFormat::kTokenDirectory:
      break;
  }
  return absl::InternalError("unknown credential format");
}

FileStamp FileStamp::Of(const std::vector<std::string>& paths) {
  FileStamp stamp;
  for (const std::string& path : paths) stamp.files.push_back(StampOne(path));
  return stamp;
}

absl::Time FileStamp::newest() const {
  absl::Time newest = absl::InfinitePast();
  for (const One& one : files) newest = std::max(newest, one.modified);
  return newest;
}

FileCredentials::FileCredentials(CredentialFile file, Credentials initial, const Clock& clock)
    : file_(std::move(file)),
      watched_(WatchedFiles(file_)),
      read_(ReadFiles(file_)),
      clock_(clock),
      current_(std::move(initial)) {}

absl::StatusOr<Credentials> FileCredentials::Get() {
  {
    absl::MutexLock lock(&mu_);
    if (refreshing_ || clock_.Elapsed() < next_look_) return current_;
    refreshing_ = true;
  }
  Refresh(Urgency::kWhenChanged);
  absl::MutexLock lock(&mu_);
  return current_;
}

void FileCredentials::Reject(const Credentials& refused) {
  {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](bool* refreshing) { return !*refreshing; }, &refreshing_));
    if (!(refused == current_)) return;
    refreshing_ = true;
  }
  Refresh(Urgency::kNow);
}

void FileCredentials::Refresh(Urgency urgency) {
  const absl::Duration pause = LookAt(urgency);
  absl::MutexLock lock(&mu_);
  next_look_ = clock_.Elapsed() + pause;
  refreshing_ = false;
}

absl::Duration FileCredentials::LookAt(Urgency urgency) {
  const FileStamp watched = FileStamp::Of(watched_);
  if (urgency == Urgency::kNow) return Read(watched);
  {
    absl::MutexLock lock(&mu_);
    if (watched == stamp_) return kLookInterval;
  }
  const absl::Duration age = clock_.WallNow() - watched.newest();
  const bool young = age >= absl::ZeroDuration() && age < kSettleTime;  // A time in the future tells nothing.
  return young ? kSettleTime : Read(watched);
}

absl::Duration FileCredentials::Read(const FileStamp& watched) {
  const FileStamp before = FileStamp::Of(read_);
  absl::StatusOr<Credentials> loaded = LoadCredentialFile(file_);
  if (!(FileStamp::Of(read_) == before)) return kSettleTime;  // Written meanwhile: neither old nor new.
  if (!loaded.ok()) {
    Keep(loaded.status());
    return kLookInterval;
  }
  absl::MutexLock lock(&mu_);
  current_ = *std::move(loaded);
  stamp_ = watched;
  last_error_.clear();
  return kLookInterval;
}

void FileCredentials::Keep(const absl::Status& error) {
  {
    absl::MutexLock lock(&mu_);
    if (last_error_ == error.message()) return;
    last_error_ = std::string(error.message());
  }
  LogWarning("credentials cannot be read again, those before stay in use: ", error.message());
}

std::unique_ptr<CredentialProvider> MakeCredentialProvider(const CredentialSource& source,
                                                           const Clock& clock) {
  if (!source.file.has_value()) return std::make_unique<StaticCredentials>(source.values);
  return std::make_unique<FileCredentials>(*source.file, source.values, clock);
}

}  // namespace bucketvol
