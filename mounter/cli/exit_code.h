#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace bucketvol {

// The exit codes of `bucketvol`, which scripts rely on.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitMountFailed = 32;  // mount(8)'s word for it, when called as mount.bucketvol.
inline constexpr int kExitInterrupted = 130;

/// An error of the one who typed the command: wrong words, not a failed attempt.
absl::Status UsageError(absl::string_view message);

/// Marks an error as one of usage; OK stays OK.
absl::Status AsUsageError(const absl::Status& status);

/// The end of a command that a signal asked for.
absl::Status InterruptedError(absl::string_view message);

/// The exit code for the outcome of a command.
int ExitCodeOf(const absl::Status& status);

}  // namespace bucketvol
