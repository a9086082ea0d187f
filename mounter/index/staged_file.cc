#include "mounter/index/staged_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"

namespace bucketvol {
namespace {

// Big enough to make large disk writes, small enough to keep the disk busy from the beginning.
constexpr uint64_t kWriteBehindBytes = 16 << 20;

absl::StatusOr<UniqueFd> OpenThenUnlink(const std::string& directory) {
  std::string path = absl::StrCat(directory, "/scratch.XXXXXX");
  UniqueFd fd(mkostemp(path.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoToStatus(errno, absl::StrCat("make a temporary file in ", directory));
  unlink(path.c_str());
  return fd;
}

UniqueFd TryUnnamed(const std::string& directory) {
  return UniqueFd(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

}  // namespace

absl::StatusOr<UniqueFd> OpenUnnamedFile(const std::string& directory) {
  UniqueFd fd = TryUnnamed(directory);
  if (fd.valid()) return fd;
  return OpenThenUnlink(directory);
}

absl::StatusOr<StagedFile> StagedFile::Create(const std::string& directory, const std::string& name) {
  UniqueFd fd = TryUnnamed(directory);
  if (fd.valid()) return StagedFile(directory, name, std::move(fd), /*named=*/false);
  const std::string path = absl::StrCat(directory, "/", name, ".new");
  ASSIGN_OR_RETURN(fd, OpenFile(path, O_RDWR | O_CREAT | O_TRUNC));
  return StagedFile(directory, name, std::move(fd), /*named=*/true);
}

StagedFile::StagedFile(std::string directory, std::string name, UniqueFd fd, bool named)
    : directory_(std::move(directory)), name_(std::move(name)), fd_(std::move(fd)), named_(named) {}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : directory_(std::move(other.directory_)),
      name_(std::move(other.name_)),
      fd_(std::move(other.fd_)),
      named_(std::exchange(other.named_, false)),
      behind_(other.behind_) {}

StagedFile::~StagedFile() {
  if (named_) unlink(NewPath().c_str());
}

std::string StagedFile::NewPath() const { return absl::StrCat(FinalPath(), ".new"); }
std::string StagedFile::FinalPath() const { return absl::StrCat(directory_, "/", name_); }

absl::Status StagedFile::Explain(const absl::Status& status) const {
  if (!absl::IsResourceExhausted(status)) return status;
  return Annotate(status, absl::StrCat("no room for the index, free some space in ", directory_));
}

absl::Status StagedFile::WriteAt(absl::string_view data, uint64_t offset) {
  return Explain(WriteAllAt(fd_.get(), data, offset, FinalPath()));
}

absl::Status StagedFile::ReadAt(absl::Span<char> out, uint64_t offset) const {
  return ReadExactlyAt(fd_.get(), out, offset, FinalPath());
}

void StagedFile::WriteBehind(uint64_t end) {
  if (end < behind_ + kWriteBehindBytes) return;
  // Only a hint: a failure shows at the sync.
  (void)sync_file_range(fd_.get(), static_cast<off_t>(behind_), static_cast<off_t>(end - behind_),
                        SYNC_FILE_RANGE_WRITE);
  behind_ = end;
}

absl::Status StagedFile::Sync() {
  if (fsync(fd_.get()) == 0) return absl::OkStatus();
  return Explain(ErrnoToStatus(errno, absl::StrCat("fsync ", FinalPath())));
}

absl::Status StagedFile::GiveNewName() {
  if (named_) return absl::OkStatus();
  unlink(NewPath().c_str());  // What a killed process may have left.
  const std::string self = absl::StrCat("/proc/self/fd/", fd_.get());
  if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, NewPath().c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return Explain(ErrnoToStatus(errno, absl::StrCat("link ", NewPath())));
  }
  named_ = true;
  return absl::OkStatus();
}

absl::Status StagedFile::Rename() {
  if (rename(NewPath().c_str(), FinalPath().c_str()) != 0) {
    return Explain(ErrnoToStatus(errno, absl::StrCat("rename to ", FinalPath())));
  }
  named_ = false;
  return absl::OkStatus();
}

absl::Status PublishFiles(const std::string& directory, absl::Span<StagedFile* const> files) {
  for (StagedFile* file : files) RETURN_IF_ERROR(file->Sync());
  for (StagedFile* file : files) RETURN_IF_ERROR(file->GiveNewName());
  for (StagedFile* file : files) RETURN_IF_ERROR(file->Rename());
  ASSIGN_OR_RETURN(UniqueFd parent, OpenFile(directory, O_RDONLY | O_DIRECTORY));
  if (fsync(parent.get()) != 0) return ErrnoToStatus(errno, absl::StrCat("fsync ", directory));
  return absl::OkStatus();
}

}  // namespace bucketvol
