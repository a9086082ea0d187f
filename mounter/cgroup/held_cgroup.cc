#include "mounter/cgroup/held_cgroup.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace bucketvol {
namespace {

bool IsTheDirectoryAt(const UniqueFd& fd, const std::string& path) {
  struct stat open_one;
  struct stat named;
  return fstat(fd.get(), &open_one) == 0 && stat(path.c_str(), &named) == 0 &&
         open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

}  // namespace

int HeldCgroup::Hold(std::vector<std::string> directories, HeldCgroup& out) {
  HeldCgroup held;
  for (const std::string& directory : directories) {
    UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return errno;
    // Collect holds its lock for as long as one rmdir takes.
    while (flock(fd.get(), LOCK_SH) != 0) {
      if (errno != EINTR) return errno;
    }
    if (!IsTheDirectoryAt(fd, directory)) return ENOENT;
    held.locks_.push_back(std::move(fd));
  }
  held.directories_ = std::move(directories);
  out = std::move(held);
  return 0;
}

int HeldCgroup::Enter() const { return EnterCgroup(directories_); }

bool HeldCgroup::Remove() const {
  bool all = true;
  for (const std::string& directory : directories_) all &= rmdir(directory.c_str()) == 0 || errno == ENOENT;
  return all;
}

int EnterCgroup(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    const UniqueFd fd(open((directory + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid() || write(fd.get(), "0", 1) != 1) return errno;
  }
  return 0;
}

std::string JoinDirectories(const std::vector<std::string>& directories) {
  std::string text;
  for (const std::string& directory : directories) text += directory + "\n";
  return text;
}

std::vector<std::string> SplitDirectories(std::string_view text) {
  std::vector<std::string> directories;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    if (end > 0) directories.emplace_back(text.substr(0, end));
  }
  return directories;
}

}  // namespace bucketvol
