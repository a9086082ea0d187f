#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mounter/index/spill_stack.h"
#include "mounter/index/staged_file.h"

namespace bucketvol {

/// Writes the object table: rows in key order, then the index of its blocks, the header last. FORMAT.md has
/// the bytes.
///
/// Appends through a buffer; holds about 2 MiB whatever the number of rows. Not thread-safe.
class ObjectTableWriter {
 public:
  /// `prefix` is what all keys have in front of the paths given to Add.
  ObjectTableWriter(StagedFile file, const std::string& scratch_directory, absl::string_view prefix);

  /// `path` is greater than the one before; `size` > 0; the object lies on `device`, right behind the object
  /// added for that device before (or where its zero head ends).
  absl::Status Add(absl::string_view path, absl::string_view etag, uint64_t size, uint32_t device);

  /// Writes out all rows and the index.
  absl::Status Finish();
  /// The last step, after Finish. `build_id` has 16 bytes.
  absl::Status WriteHeader(absl::string_view build_id);

  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return written_ + buffer_.size(); }
  /// A checksum over everything written so far.
  uint32_t digest() const { return digest_; }
  StagedFile& file() { return file_; }

 private:
  void BeginBlock();
  absl::Status EndBlock();
  absl::Status Append(absl::string_view data);
  absl::Status FlushBuffer();
  absl::Status WriteIndex();

  StagedFile file_;
  const std::string prefix_;
  uint64_t written_ = 0;  // Bytes in the file; buffer_ comes next.
  std::string buffer_;
  uint32_t digest_ = 0;

  uint64_t rows_ = 0;
  uint64_t blocks_ = 0;
  uint64_t index_offset_ = 0;
  std::string block_;  // Rows of the block being filled.
  std::string last_path_;
  std::string etag_;                     // Scratch.
  std::vector<uint64_t> cursors_;        // Where the next object of each device begins, in blocks.
  std::vector<uint64_t> block_cursors_;  // The same at the beginning of the block.
  SpillStack index_;                     // Entries of finished blocks, in a form of its own.
};

}  // namespace bucketvol
