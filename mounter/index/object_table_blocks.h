#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "mounter/base/unique_fd.h"
#include "mounter/index/object_table_format.h"

namespace bucketvol {

struct TableHeader {
  std::string build_id;
  uint64_t rows = 0;
  uint64_t index_offset = 0;
  uint32_t devices = 0;
  std::string prefix;

  uint64_t blocks() const { return (rows + table_format::kRowsPerBlock - 1) / table_format::kRowsPerBlock; }
};

/// Some consecutive entries of the table's index, as they are in the file.
class TableEntries {
 public:
  TableEntries() = default;
  TableEntries(uint64_t first, size_t entry_bytes, std::vector<char> bytes)
      : first_(first), entry_bytes_(entry_bytes), bytes_(std::move(bytes)) {}

  /// Where the rows of a block begin in the file.
  uint64_t Offset(uint64_t block) const;
  uint32_t Checksum(uint64_t block) const;
  /// Where the first object at or behind a block begins on a device, in blocks of the device.
  uint64_t Cursor(uint64_t block, uint32_t device) const;
  /// Extends a checksum by an entry as it was when the checksum was made: its own checksum zero.
  uint32_t Extend(uint32_t crc, uint64_t block) const;
  /// The last block that begins at or before `at`, but not the last entry: that one only ends the block
  /// before.
  uint64_t LastBlockAt(uint32_t device, uint64_t at) const;
  /// The entries of `block` and of the one behind it.
  TableEntries PairAt(uint64_t block) const;

 private:
  const char* At(uint64_t block) const { return bytes_.data() + (block - first_) * entry_bytes_; }

  uint64_t first_ = 0;
  size_t entry_bytes_ = 0;
  std::vector<char> bytes_;
};

/// 64 rows that were verified. Immutable.
struct TableBlock {
  uint64_t number = 0;
  TableEntries entries;  // Its own and the next one's.
  std::vector<char> rows;

  uint64_t begin(uint32_t device) const { return entries.Cursor(number, device); }
  uint64_t end(uint32_t device) const { return entries.Cursor(number + 1, device); }
};

/// The blocks of rows of an object table, read from its file as they are wanted.
///
/// The file is read by pread(2): through a mapping an I/O error of the disk, or a file that somebody cuts,
/// would be a SIGBUS that ends the whole process instead of one read. The latest blocks are kept, since who
/// reads small files in their order wants each block 64 times, and so are the entries that every search looks
/// at first. Thread-safe. Errors: DataLoss for a damaged table, else the system's.
class TableBlocks {
 public:
  /// Checks the header and the sizes. Keeps a duplicate of the descriptor.
  static absl::StatusOr<std::unique_ptr<TableBlocks>> Open(const UniqueFd& fd, absl::string_view name);

  const TableHeader& header() const { return header_; }
  /// The block that holds the object at `at` (a block of the device), or the one behind `at` where nobody
  /// owns it; the last block of the table, which ends before `at`, when none follows. There must be rows.
  absl::StatusOr<std::shared_ptr<const TableBlock>> Find(uint32_t device, uint64_t at);
  absl::StatusOr<std::shared_ptr<const TableBlock>> Get(uint64_t number);
  /// Of the whole index, which holds the checksums of all rows.
  absl::StatusOr<uint32_t> Checksum() const;

 private:
  using BlockPtr = std::shared_ptr<const TableBlock>;

  TableBlocks(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  absl::Status ReadHeader(uint64_t file_size);
  absl::Status CheckSizes(uint64_t file_size) const;
  absl::Status Read(uint64_t offset, absl::Span<char> out) const;
  absl::StatusOr<TableEntries> ReadEntries(uint64_t first, uint64_t last) const;
  absl::StatusOr<uint64_t> Step(uint64_t node, uint64_t block, uint32_t device);
  absl::StatusOr<TableEntries> Search(uint32_t device, uint64_t at);
  absl::StatusOr<BlockPtr> ReadBlock(const TableEntries& entries, uint64_t number);
  template <typename Wanted>
  BlockPtr Recent(const Wanted& wanted) const ABSL_LOCKS_EXCLUDED(mu_);

  // With the entries that a search reads in its end this leads it there without a further read in a table of
  // 16 M objects; each doubling costs one more. 32 KiB for each device.
  static constexpr uint64_t kTopNodes = 4096;
  // About 3 KiB each.
  static constexpr size_t kRecent = 32;

  const UniqueFd fd_;
  const std::string name_;
  TableHeader header_;  // Constant once open.
  // What the first steps of a search compare with, by node and device: node 1 is the first step, 2n and 2n +
  // 1 are those that may follow step n. 0: not read yet. (No object begins there.)
  std::vector<std::atomic<uint64_t>> top_;

  mutable absl::Mutex mu_;  // Leaf. No I/O under it.
  std::array<BlockPtr, kRecent> recent_ ABSL_GUARDED_BY(mu_);
  size_t oldest_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace bucketvol
