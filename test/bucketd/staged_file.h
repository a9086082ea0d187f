#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/base/unique_fd.h"
#include "test/bucketd/digest.h"

namespace bucketvol::bucketd {

/// An object that is being written, invisible until its bucket takes it. Removed from the disk by the
/// destructor unless taken. Computes MD5 and CRC-64 on the way. Not thread-safe.
class StagedFile {
 public:
  /// Makes an empty file in `directory`, under a name of its own.
  static absl::StatusOr<StagedFile> Create(const std::string& directory);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();

  absl::Status Append(absl::string_view data);
  /// Appends `size` bytes of another file, inside the kernel; their digests do not enter ours: the caller
  /// knows better.
  absl::Status AppendFile(int from, uint64_t offset, uint64_t size);

  uint64_t size() const { return size_; }
  uint64_t crc64() const { return crc64_; }
  /// The raw MD5 of what Append got. Call once.
  std::string FinishMd5() { return md5_.Finish(); }
  /// Closes the descriptor: no more writing; thousands of parts may wait.
  void Seal() { fd_.Reset(); }
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  /// The file has been moved away; the destructor leaves it alone.
  void Taken() { path_.clear(); }

 private:
  StagedFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
  uint64_t size_ = 0;
  uint64_t crc64_ = 0;
  Digest md5_{DigestKind::kMd5};
};

struct FileDigests {
  std::string md5;  // Raw.
  uint64_t crc64 = 0;
};
/// Reads the first `size` bytes of a file, once. An error if it has fewer.
absl::StatusOr<FileDigests> DigestFile(int fd, uint64_t size);

}  // namespace bucketvol::bucketd
