#include "mounter/guard/open_here.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace bucketvol {

Outcome<UniqueFd> OpenHere(const std::string& path, const UniqueFd& theirs) {
  // Compared before it is opened: opening what is no regular file can have effects.
  const UniqueFd place(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place.valid()) return SystemFailure(errno, "open " + path);
  struct stat ours;
  struct stat other;
  if (fstat(place.get(), &ours) != 0 || fstat(theirs.get(), &other) != 0)
    return SystemFailure(errno, "stat " + path);
  if (!S_ISREG(ours.st_mode) || ours.st_dev != other.st_dev || ours.st_ino != other.st_ino)
    return Failure{0, "worker sent another file than it names: " + path};
  UniqueFd file(open(("/proc/self/fd/" + std::to_string(place.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return SystemFailure(errno, "open " + path);
  return file;
}

}  // namespace bucketvol
