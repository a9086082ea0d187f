#pragma once

#include "absl/strings/string_view.h"

namespace bucketvol {

struct KernelVersion {
  int major = 0;
  int minor = 0;

  bool AtLeast(int wanted_major, int wanted_minor) const {
    return major != wanted_major ? major > wanted_major : minor >= wanted_minor;
  }
};

/// Reads "6.1.0-18-amd64". Zeros for anything else.
KernelVersion ParseKernelVersion(absl::string_view release);

/// Of the running kernel.
KernelVersion RunningKernel();

/// EROFS with block addresses of 48 bits: Linux 6.15 and later.
inline bool Has48BitErofs(KernelVersion kernel) { return kernel.AtLeast(6, 15); }

}  // namespace bucketvol
