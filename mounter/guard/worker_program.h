#pragma once

#include <string>

#include "mounter/base/unique_fd.h"
#include "mounter/guard/outcome.h"

namespace bucketvol {

/// Keeps the directory of a program from being collected, for as long as `lock` lives: a worker may have to
/// be started from it at any time. A Failure when the program cannot be run.
Step HoldProgram(const std::string& program, UniqueFd& lock);

/// Becomes `PROGRAM worker` with an empty environment. A program of a bundle is run by the bundle's own
/// loader, with the bundle's libraries. Returns when that fails.
void BecomeProgram(const std::string& program);

}  // namespace bucketvol
