#pragma once

#include <linux/filter.h>

#include <vector>

#include "absl/status/status.h"

namespace bucketvol {

/// Binds the calling thread, and those that it starts, to the system calls of syscall_list.h. Another one
/// ends the process with SIGSYS, after a line in the log that names its number.
///
/// Needs no_new_privs. A program of BPF of our own, not libseccomp: a list of numbers and three checks of
/// arguments are fewer lines than that library's calls, and the worker has one dependency less.
absl::Status FilterSyscalls();

/// The program that FilterSyscalls installs.
std::vector<sock_filter> SyscallProgram();

}  // namespace bucketvol
