#include "mounter/cli/host_network.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace bucketvol {

UniqueFd FindHostNetwork() {
  UniqueFd host(open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC));
  struct stat theirs;
  struct stat ours;
  if (!host.valid() || fstat(host.get(), &theirs) != 0 || stat("/proc/self/ns/net", &ours) != 0)
    return UniqueFd();
  if (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev) return UniqueFd();
  return host;
}

}  // namespace bucketvol
