#include "test/bucketd/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/coding.h"
#include "mounter/base/crc.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"

namespace bucketvol::bucketd {
namespace {

constexpr absl::string_view kHeader = "bucketd journal 1\n";
constexpr size_t kFrameBytes = 8;
constexpr size_t kMaxFileBytes = size_t{8} << 30;

std::string Frame(absl::string_view entry) {
  std::string out;
  AppendLittle(out, static_cast<uint32_t>(entry.size()));
  AppendLittle(out, Crc32c(0, entry));
  out.append(entry.data(), entry.size());
  return out;
}

// Takes a whole, sound entry off the front of `rest`; false leaves `rest` alone.
bool TakeEntry(absl::string_view& rest, absl::string_view& entry) {
  if (rest.size() < kFrameBytes) return false;
  const auto size = LoadLittle<uint32_t>(rest.data());
  if (rest.size() - kFrameBytes < size) return false;
  entry = rest.substr(kFrameBytes, size);
  if (Crc32c(0, entry) != LoadLittle<uint32_t>(rest.data() + 4)) return false;
  rest.remove_prefix(kFrameBytes + size);
  return true;
}

}  // namespace

absl::StatusOr<Journal> Journal::Open(const std::string& path,
                                      absl::FunctionRef<void(absl::string_view)> replay) {
  ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDWR | O_CREAT));
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path, kMaxFileBytes));
  if (bytes.size() < kHeader.size() && absl::StartsWith(kHeader, bytes)) {
    RETURN_IF_ERROR(WriteAllAt(fd.get(), kHeader, 0, path));
    return Journal(std::move(fd), kHeader.size(), 0);
  }
  absl::string_view rest = bytes;
  if (!absl::StartsWith(rest, kHeader)) {
    return absl::FailedPreconditionError(absl::StrCat("not a journal of this version: ", path));
  }
  rest.remove_prefix(kHeader.size());
  uint64_t entries = 0;
  for (absl::string_view entry; TakeEntry(rest, entry); ++entries) replay(entry);
  const uint64_t size = bytes.size() - rest.size();
  if (!rest.empty() && ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return ErrnoToStatus(errno, path);
  return Journal(std::move(fd), size, entries);
}

absl::StatusOr<Journal> Journal::Rewrite(
    const std::string& path,
    absl::FunctionRef<void(absl::FunctionRef<void(absl::string_view)> append)> write) {
  std::string content(kHeader);
  uint64_t entries = 0;
  write([&](absl::string_view entry) {
    content += Frame(entry);
    ++entries;
  });
  RETURN_IF_ERROR(WriteFileAtomically(path, content));
  ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDWR));
  return Journal(std::move(fd), content.size(), entries);
}

absl::Status Journal::Append(absl::string_view entry) {
  AppendLater(entry);
  return Flush();
}

void Journal::AppendLater(absl::string_view entry) {
  unwritten_ += Frame(entry);
  ++entries_;
}

absl::Status Journal::Flush() {
  if (unwritten_.empty()) return absl::OkStatus();
  const std::string frames = std::move(unwritten_);
  unwritten_.clear();
  RETURN_IF_ERROR(WriteAllAt(fd_.get(), frames, size_, "the journal of a bucket"));
  size_ += frames.size();
  return absl::OkStatus();
}

}  // namespace bucketvol::bucketd
