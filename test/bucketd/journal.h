#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol::bucketd {

/// A file of entries that only grows: `bucketd journal 1\n`, then each entry as length (4 bytes), CRC-32C of
/// its bytes (4), bytes; little-endian. An entry is there whole or not at all: what a crash left of the last
/// one is cut off at the next Open. Not thread-safe.
class Journal {
 public:
  /// Opens or makes `path` and shows every entry, oldest first. Another version is a FailedPrecondition
  /// error.
  static absl::StatusOr<Journal> Open(const std::string& path,
                                      absl::FunctionRef<void(absl::string_view)> replay);
  /// Replaces the file by one with the entries that `write` gives.
  static absl::StatusOr<Journal> Rewrite(
      const std::string& path,
      absl::FunctionRef<void(absl::FunctionRef<void(absl::string_view)> append)> write);

  absl::Status Append(absl::string_view entry);
  /// Adds an entry that may be lost: it is written with the next Append or Flush.
  void AppendLater(absl::string_view entry);
  absl::Status Flush();
  /// Entries in the file.
  uint64_t entries() const { return entries_; }

 private:
  Journal(UniqueFd fd, uint64_t size, uint64_t entries)
      : fd_(std::move(fd)), size_(size), entries_(entries) {}

  UniqueFd fd_;
  uint64_t size_;
  uint64_t entries_;
  std::string unwritten_;
};

}  // namespace bucketvol::bucketd
