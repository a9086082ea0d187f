#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace bucketvol {

// What a worker may ask of the kernel: its own memory, threads, time, files and sockets. Made from what the
// programs were seen to call in the tests, rounded up to whole families of calls, so that another version of
// a library does not end a mount. Not on it: running programs, making processes, tracing, mounting,
// namespaces, changing users, keys, modules, BPF, performance counters, io_uring.

/// Numbers of this architecture.
absl::Span<const uint32_t> AllowedSyscalls();

/// Answered with ENOSYS, as by a kernel that does not have them: libraries try them and then do without.
absl::Span<const uint32_t> MissingSyscalls();

}  // namespace bucketvol
