#include "mounter/cgroup/held_cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "mounter/base/directory_lock.h"

namespace bucketvol {

int HeldCgroup::Hold(std::vector<std::string> directories, HeldCgroup& out) {
  HeldCgroup held;
  for (const std::string& directory : directories) {
    UniqueFd lock;
    if (const int error = HoldDirectory(directory, lock)) return error;
    held.locks_.push_back(std::move(lock));
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
