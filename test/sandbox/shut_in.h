#pragma once

#include <functional>
#include <string>

namespace bucketvol::testing {

/// How a process ended, and what it wrote to its standard error.
struct Ending {
  int exit_code = -1;  // -1: by a signal.
  int signal = 0;
  std::string errors;
};

/// Runs `work` in a process of its own, which exits with the code that `work` returns.
Ending InProcess(const std::function<int()>& work);

/// Whether this process may make mounts; the tests of a view of files are skipped without.
bool MayMount();

}  // namespace bucketvol::testing
