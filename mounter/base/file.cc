#include "mounter/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/status_macros.h"

namespace bucketvol {
namespace {

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status SyncDirectory(const std::string& path) {
  ASSIGN_OR_RETURN(UniqueFd directory, OpenFile(path, O_RDONLY | O_DIRECTORY));
  if (fsync(directory.get()) != 0) return ErrnoToStatus(errno, absl::StrCat("fsync ", path));
  return absl::OkStatus();
}

// A parent may be removed by somebody else after it was made or found. All attempts are lost only on a link
// that leads nowhere.
constexpr int kAttempts = 20;
// Ends the lockstep of two who make and remove the same directory.
constexpr absl::Duration kPause = absl::Milliseconds(1);

absl::Status WalkMaking(const std::string& path, unsigned mode) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    if (mkdir(prefix.c_str(), mode) != 0 && errno != EEXIST) {
      return ErrnoToStatus(errno, absl::StrCat("make directory ", prefix));
    }
    if (end == std::string::npos) break;
  }
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoToStatus(errno, absl::StrCat("stat ", path));
  if (!S_ISDIR(info.st_mode)) return ErrnoToStatus(ENOTDIR, absl::StrCat("make directory ", path));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags, unsigned mode) {
  UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC, mode));
  if (!fd.valid()) return ErrnoToStatus(errno, absl::StrCat("open ", path));
  return fd;
}

absl::Status WriteAllAt(int fd, absl::string_view data, uint64_t offset, absl::string_view what) {
  while (!data.empty()) {
    const ssize_t written = pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoToStatus(errno, absl::StrCat("write ", what));
    }
    data.remove_prefix(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return absl::OkStatus();
}

absl::Status ReadExactlyAt(int fd, absl::Span<char> out, uint64_t offset, absl::string_view what) {
  while (!out.empty()) {
    const ssize_t got = pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      return ErrnoToStatus(errno, absl::StrCat("read ", what));
    }
    if (got == 0) return absl::DataLossError(absl::StrCat("file is shorter than expected: ", what));
    out.remove_prefix(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t limit) {
  ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDONLY));
  std::string content;
  char buffer[16 * 1024];
  while (true) {
    const ssize_t got = read(fd.get(), buffer, sizeof buffer);
    if (got < 0) {
      if (errno == EINTR) continue;
      return ErrnoToStatus(errno, absl::StrCat("read ", path));
    }
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
    if (content.size() > limit) {
      return absl::ResourceExhaustedError(absl::StrCat("file is larger than ", limit, " bytes: ", path));
    }
  }
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, unsigned mode) {
  const std::string temporary = absl::StrCat(path, ".tmp.", getpid());
  ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(temporary, O_WRONLY | O_CREAT | O_TRUNC, mode));
  absl::Cleanup drop = [&] { unlink(temporary.c_str()); };
  RETURN_IF_ERROR(WriteAllAt(fd.get(), content, 0, temporary));
  if (fsync(fd.get()) != 0) return ErrnoToStatus(errno, absl::StrCat("fsync ", temporary));
  if (rename(temporary.c_str(), path.c_str()) != 0)
    return ErrnoToStatus(errno, absl::StrCat("rename to ", path));
  std::move(drop).Cancel();
  return SyncDirectory(ParentOf(path));
}

absl::Status MakeDirectories(const std::string& path, unsigned mode) {
  absl::Status made = WalkMaking(path, mode);
  for (int attempt = 1; attempt < kAttempts && absl::IsNotFound(made); ++attempt) {
    absl::SleepFor(kPause);
    made = WalkMaking(path, mode);
  }
  return made;
}

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  DIR* entries = opendir(directory.c_str());
  if (entries == nullptr) return names;
  while (const dirent* entry = readdir(entries)) {
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(entries);
  return names;
}

}  // namespace bucketvol
