#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace bucketvol {

/// What a process needs to reach once it has shut itself in.
struct SandboxSettings {
  std::vector<std::string> writable_directories;  // Absolute; they exist.
  std::vector<std::string> readable_directories;  // Absolute; those that do not exist are left out.
  // Absolute. The directory of each is shown, so that a file that is replaced by rename is seen; also the one
  // that a symbolic link leads to.
  std::vector<std::string> readable_files;
};

/// Keeps the process from core files and from being read by debuggers and other users' /proc. The first thing
/// that a process with secrets does.
absl::Status HideProcess();

/// Gives up everything that a worker does not need, for good: sees only the files of `settings` and those of
/// the system that TLS and name lookup read, has no capability and can gain none, and is killed when it makes
/// a system call that is not on the list (syscall_list.h), with a line in the log that names it.
///
/// Needs CAP_SYS_ADMIN. Call it while the process has one thread: the threads that it starts are bound by it.
absl::Status EnterSandbox(const SandboxSettings& settings);

/// Raises the limit of open files to what is allowed.
void RaiseFileLimit();

}  // namespace bucketvol
