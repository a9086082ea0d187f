#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol::testing {

/// Kernel objects for tests that need a real kernel. All of them are attached nowhere and end with their
/// descriptors, also when the test is killed.

/// Empty where such objects can be made; else why not.
std::string WhyNoKernelObjects();

struct FuseMount {
  UniqueFd device;  // /dev/fuse, for the session.
  UniqueFd mount;   // The root directory.
};
absl::StatusOr<FuseMount> MakeFuseMount();

struct LoopDevice {
  UniqueFd fd;
  std::string path;     // "/dev/loop7"
  bool direct = false;  // Whether the kernel reads the file with direct I/O, as asked.
};
/// A read-only loop device over a file, with direct I/O if `direct`.
absl::StatusOr<LoopDevice> MakeLoopDevice(int file, bool direct);

/// The root directory of an EROFS image whose data lies on more devices.
absl::StatusOr<UniqueFd> MountErofs(const std::string& image, const std::vector<std::string>& devices);

/// Pages of a file in the page cache; -1 where the kernel cannot tell (before 6.5).
int64_t CachedPages(int file);

}  // namespace bucketvol::testing
