#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// Keeps byte strings in an unnamed temporary file until they are read back, once each.
///
/// The file is cut into extents; one writer (SpillWriter) fills an extent before it takes the next, so that
/// what belongs together is read sequentially, and extents whose pieces have all been read are used again. A
/// piece is its bytes as they are; its length and CRC-32C are kept in memory. Thread-safe.
class SpillFile {
 public:
  struct Piece {
    uint64_t offset = 0;
    uint32_t bytes = 0;
    uint32_t crc = 0;
  };
  /// Where one writer is in its extent. For one thread at a time.
  struct Writer {
    uint64_t at = 0;
    uint64_t end = 0;
  };

  /// Makes nothing yet: the file appears in `directory` (made if missing) with the first piece. At most
  /// `limit_bytes` long, rounded up by one extent per writer.
  SpillFile(std::string directory, uint64_t limit_bytes);

  /// Whether no piece should be written now: there is no directory, or the limit is reached.
  bool full() const;
  /// Errors name the directory. A full disk is a ResourceExhausted error.
  absl::StatusOr<Piece> Write(Writer& writer, absl::string_view data);
  /// Fills `out` with the piece and frees its place. DataLoss when the bytes are not those that were written.
  absl::Status Read(const Piece& piece, std::string& out);
  /// Says that the writer will write no more.
  void Close(const Writer& writer);

 private:
  struct Extent {
    uint64_t bytes = 0;
    uint32_t pieces = 0;  // Not yet read back.
    bool open = true;     // A writer may still add pieces.
  };

  absl::StatusOr<int> OpenLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<int> PlaceLocked(Writer& writer, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::map<uint64_t, Extent>::iterator ExtentAtLocked(uint64_t offset) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FreeIfUnusedLocked(std::map<uint64_t, Extent>::iterator extent) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string directory_;
  const uint64_t limit_bytes_;
  mutable absl::Mutex mu_;  // Leaf. Not held during reads and writes of the file.
  UniqueFd fd_ ABSL_GUARDED_BY(mu_);
  uint64_t file_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Extent> extents_ ABSL_GUARDED_BY(mu_);  // In use, by offset.
  std::vector<uint64_t> free_ ABSL_GUARDED_BY(mu_);          // Extents of the usual length.
};

}  // namespace bucketvol
