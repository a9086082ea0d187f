#include "mounter/index/run_spill.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/crc.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"

namespace bucketvol {
namespace {

// Some ten pages of a listing: long enough to be read sequentially, short enough that 128 half-filled ones do
// no harm.
constexpr uint64_t kExtentBytes = 512 * 1024;

uint64_t RoundUp(uint64_t bytes) { return (bytes + kExtentBytes - 1) / kExtentBytes * kExtentBytes; }

// A file without a name. Where the file system has no such thing, one whose name is taken away at once.
absl::StatusOr<UniqueFd> OpenUnnamed(const std::string& directory) {
  absl::StatusOr<UniqueFd> fd = OpenFile(directory, O_TMPFILE | O_RDWR);
  if (fd.ok()) return fd;
  std::string name = absl::StrCat(directory, "/.listing-XXXXXX");
  UniqueFd named(mkostemp(name.data(), O_CLOEXEC));
  if (!named.valid()) return ErrnoToStatus(errno, "make a temporary file");
  unlink(name.c_str());
  return named;
}

absl::Status InDirectory(const absl::Status& status, const std::string& directory) {
  return Annotate(status, absl::StrCat("keeping a part of the listing in ", directory));
}

}  // namespace

SpillFile::SpillFile(std::string directory, uint64_t limit_bytes)
    : directory_(std::move(directory)), limit_bytes_(limit_bytes) {}

bool SpillFile::full() const {
  if (directory_.empty()) return true;
  absl::MutexLock lock(&mu_);
  return free_.empty() && file_bytes_ + kExtentBytes > limit_bytes_;
}

absl::StatusOr<int> SpillFile::OpenLocked() {
  if (!fd_.valid()) {
    RETURN_IF_ERROR(MakeDirectories(directory_));
    ASSIGN_OR_RETURN(fd_, OpenUnnamed(directory_));
  }
  return fd_.get();
}

// Makes room for `bytes` at writer.at and counts the piece.
absl::StatusOr<int> SpillFile::PlaceLocked(Writer& writer, size_t bytes) {
  ASSIGN_OR_RETURN(const int fd, OpenLocked());
  if (writer.end - writer.at < bytes) {
    if (writer.end > 0) {
      const auto old = ExtentAtLocked(writer.end - 1);
      old->second.open = false;
      FreeIfUnusedLocked(old);
    }
    const uint64_t length = RoundUp(bytes);
    if (length == kExtentBytes && !free_.empty()) {
      writer.at = free_.back();
      free_.pop_back();
    } else {
      writer.at = file_bytes_;
      file_bytes_ += length;
    }
    writer.end = writer.at + length;
    extents_.emplace(writer.at, Extent{.bytes = length});
  }
  ++ExtentAtLocked(writer.at)->second.pieces;
  return fd;
}

absl::StatusOr<SpillFile::Piece> SpillFile::Write(Writer& writer, absl::string_view data) {
  int fd;
  {
    absl::MutexLock lock(&mu_);
    absl::StatusOr<int> placed = PlaceLocked(writer, data.size());
    if (!placed.ok()) return InDirectory(placed.status(), directory_);
    fd = *placed;
  }
  const Piece piece{writer.at, static_cast<uint32_t>(data.size()), Crc32c(0, data)};
  writer.at += data.size();
  const absl::Status written = WriteAllAt(fd, data, piece.offset, "the temporary file");
  if (!written.ok()) return InDirectory(written, directory_);
  return piece;
}

absl::Status SpillFile::Read(const Piece& piece, std::string& out) {
  int fd;
  {
    absl::MutexLock lock(&mu_);
    fd = fd_.get();
  }
  out.resize(piece.bytes);
  const absl::Status read =
      ReadExactlyAt(fd, absl::Span<char>(out.data(), out.size()), piece.offset, "the temporary file");
  if (!read.ok()) return InDirectory(read, directory_);
  if (Crc32c(0, out) != piece.crc) {
    return InDirectory(absl::DataLossError("read back other bytes than were written"), directory_);
  }
  absl::MutexLock lock(&mu_);
  const auto extent = ExtentAtLocked(piece.offset);
  --extent->second.pieces;
  FreeIfUnusedLocked(extent);
  return absl::OkStatus();
}

void SpillFile::Close(const Writer& writer) {
  if (writer.end == 0) return;
  absl::MutexLock lock(&mu_);
  const auto extent = ExtentAtLocked(writer.end - 1);
  extent->second.open = false;
  FreeIfUnusedLocked(extent);
}

std::map<uint64_t, SpillFile::Extent>::iterator SpillFile::ExtentAtLocked(uint64_t offset) {
  return std::prev(extents_.upper_bound(offset));
}

void SpillFile::FreeIfUnusedLocked(std::map<uint64_t, Extent>::iterator extent) {
  if (extent->second.open || extent->second.pieces > 0) return;
  for (uint64_t at = 0; at < extent->second.bytes; at += kExtentBytes) free_.push_back(extent->first + at);
  extents_.erase(extent);
}

}  // namespace bucketvol
