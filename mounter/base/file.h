#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// Opens `path` with O_CLOEXEC added to `flags`. Errors name the path.
absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags, unsigned mode = 0600);

/// Writes all of `data` at `offset`. Errors name `what`.
absl::Status WriteAllAt(int fd, absl::string_view data, uint64_t offset, absl::string_view what);

/// Fills `out` from `offset`. A file that ends earlier is a DataLoss error.
absl::Status ReadExactlyAt(int fd, absl::Span<char> out, uint64_t offset, absl::string_view what);

/// Reads a whole file of at most `limit` bytes; a longer one is a ResourceExhausted error.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t limit);

/// Writes `path` so that readers see the old or the new content, whole: temporary file, fsync, rename, fsync
/// of the directory.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, unsigned mode = 0600);

/// Makes `path` and its missing parents with `mode`. An existing directory is fine, and so is somebody who
/// removes empty ones meanwhile.
absl::Status MakeDirectories(const std::string& path, unsigned mode = 0700);

/// The names in a directory, in no order, without "." and ".."; none where it cannot be read.
std::vector<std::string> NamesIn(const std::string& directory);

}  // namespace bucketvol
