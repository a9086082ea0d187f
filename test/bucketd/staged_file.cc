#include "test/bucketd/staged_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/crc.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"

namespace bucketvol::bucketd {
namespace {

constexpr size_t kPiece = 256 * 1024;

}  // namespace

absl::StatusOr<StagedFile> StagedFile::Create(const std::string& directory) {
  std::string path = absl::StrCat(directory, "/XXXXXX");
  UniqueFd fd(mkostemp(path.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoToStatus(errno, absl::StrCat("cannot make a file in ", directory));
  return StagedFile(std::move(fd), std::move(path));
}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::exchange(other.path_, {})),
      size_(other.size_),
      crc64_(other.crc64_),
      md5_(std::move(other.md5_)) {}

StagedFile::~StagedFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

absl::Status StagedFile::Append(absl::string_view data) {
  RETURN_IF_ERROR(WriteAllAt(fd_.get(), data, size_, path_));
  size_ += data.size();
  crc64_ = Crc64(crc64_, data);
  md5_.Update(data);
  return absl::OkStatus();
}

absl::Status StagedFile::AppendFile(int from, uint64_t offset, uint64_t size) {
  auto source = static_cast<off64_t>(offset);
  auto target = static_cast<off64_t>(size_);
  while (size > 0) {
    const ssize_t copied = copy_file_range(from, &source, fd_.get(), &target, size, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) return ErrnoToStatus(copied < 0 ? errno : EIO, "cannot copy into a new object");
    size -= static_cast<uint64_t>(copied);
    size_ += static_cast<uint64_t>(copied);
  }
  return absl::OkStatus();
}

absl::StatusOr<FileDigests> DigestFile(int fd, uint64_t size) {
  // Most files are small: no large buffer for them, and no second read to learn that they have ended.
  const size_t piece_bytes = std::min<uint64_t>(kPiece, size);
  const std::unique_ptr<char[]> buffer(new char[piece_bytes]);
  Digest md5(DigestKind::kMd5);
  FileDigests digests;
  for (uint64_t offset = 0; offset < size;) {
    const ssize_t got =
        pread(fd, buffer.get(), std::min<uint64_t>(piece_bytes, size - offset), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return ErrnoToStatus(got < 0 ? errno : EIO, "cannot read an object's file");
    const absl::string_view piece(buffer.get(), static_cast<size_t>(got));
    md5.Update(piece);
    digests.crc64 = Crc64(digests.crc64, piece);
    offset += piece.size();
  }
  digests.md5 = md5.Finish();
  return digests;
}

}  // namespace bucketvol::bucketd
