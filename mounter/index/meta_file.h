#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mounter/index/staged_file.h"

namespace bucketvol {

/// Writes the metadata image: inodes packed into chunks, directory blocks between them, almost always in file
/// order.
///
/// Chunks start at one block and double up to 256 KiB, so that a small image stays small and a large one has
/// the inodes of a directory close to its blocks. Block 0 is left free for the superblock. Holds under 1 MiB.
/// Not thread-safe.
class MetaFile {
 public:
  /// Room for an inode: `data` may be filled until the next call of any method.
  struct Slot {
    uint64_t offset = 0;  // In the file.
    char* data = nullptr;
  };

  explicit MetaFile(StagedFile file);

  /// Takes `bytes` (at most one block) of zeroed room that lies in one block and begins at a multiple of 32.
  absl::Status Allocate(size_t bytes, Slot& slot);

  /// Appends one block. Consecutive calls, without Allocate between them, give consecutive blocks.
  absl::Status AppendBlock(const char* block, uint64_t& offset);

  /// Overwrites what was written before, e.g. a reserved inode or a number that was not known yet.
  absl::Status Patch(uint64_t offset, absl::string_view bytes);
  absl::Status Read(uint64_t offset, absl::Span<char> out) const;

  /// Writes out all that is buffered. Only Patch may follow.
  absl::Status Flush();

  uint64_t bytes() const { return tail_; }
  /// A checksum over everything written so far, in the order of writing.
  uint32_t digest() const { return digest_; }
  StagedFile& file() { return file_; }

 private:
  size_t RoomInBlock() const;
  absl::Status NextBlock();
  absl::Status NewChunk();
  absl::Status FlushChunk();
  absl::Status FlushBlocks();
  absl::Status Write(absl::string_view data, uint64_t offset);
  char* BufferedAt(uint64_t offset, size_t bytes) const;

  StagedFile file_;
  uint32_t digest_ = 0;
  uint64_t tail_;  // End of all that is allocated; a multiple of the block size.

  std::unique_ptr<char[]> chunk_;
  uint64_t chunk_offset_;
  size_t chunk_bytes_ = 0;  // Size of the chunk in the file.
  size_t chunk_used_ = 0;
  size_t gap_begin_ = 0;  // Rest of a block in the chunk that was too short for what came: filled first.
  size_t gap_end_ = 0;

  std::unique_ptr<char[]> blocks_;  // Directory blocks that lie at blocks_offset_ and are not written yet.
  uint64_t blocks_offset_;
  size_t blocks_bytes_ = 0;
};

}  // namespace bucketvol
