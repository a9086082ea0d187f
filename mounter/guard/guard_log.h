#pragma once

#include <string>

namespace bucketvol {

/// Writes one line with the time to the standard error, which is the log of the run directory or the
/// terminal.
void GuardLog(const std::string& text);

}  // namespace bucketvol
