#include "mounter/cli/kernel_version.h"

#include <sys/utsname.h>

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace bucketvol {

KernelVersion ParseKernelVersion(absl::string_view release) {
  const std::vector<absl::string_view> parts = absl::StrSplit(release, absl::ByAnyChar(".-+"));
  KernelVersion version;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &version.major) ||
      !absl::SimpleAtoi(parts[1], &version.minor)) {
    return {};
  }
  return version;
}

KernelVersion RunningKernel() {
  utsname names;
  return uname(&names) == 0 ? ParseKernelVersion(names.release) : KernelVersion{};
}

}  // namespace bucketvol
