#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mounter/index/directory_entry.h"
#include "mounter/index/dirent_block.h"
#include "mounter/index/meta_file.h"

namespace bucketvol {

/// What the inode of a directory says.
struct DirectoryInode {
  uint16_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  int64_t mtime_seconds = 0;
  uint32_t mtime_nanoseconds = 0;
  uint32_t links = 0;
};

/// Writes one directory after another to the metadata image: blocks of entries, then the inode.
///
/// Use for each: Start, Add each entry in order of names (without "." and ".."), then Finish. Not
/// thread-safe.
class DirectoryWriter {
 public:
  /// The number of an inode whose place is not known yet.
  static constexpr uint64_t kNoNid = 0;

  explicit DirectoryWriter(MetaFile& meta) : meta_(meta) {}

  /// `parent`: number for "..", or kNoNid if it will be patched. `self`: number of a slot reserved for the
  /// inode, or kNoNid.
  void Start(uint64_t self, uint64_t parent);
  absl::Status Add(const DirectoryEntry& entry);
  absl::Status Finish(const DirectoryInode& inode);

  /// After Finish: the directory's own number, and where in the file the number of ".." lies.
  uint64_t nid() const { return self_; }
  uint64_t dotdot_offset() const { return dotdot_; }

  /// Takes room for an inode to be written by a later Finish.
  absl::Status Reserve(uint64_t& nid);
  /// Writes the number of a directory entry that was not known before, e.g. at dotdot_offset().
  absl::Status PatchNid(uint64_t offset, uint64_t nid);

 private:
  // Where the number of "." or ".." lies: at an offset of the file, or of the block being filled.
  struct Place {
    bool written = false;
    uint64_t offset = 0;
  };

  absl::Status AddDots(absl::string_view before);
  absl::Status AddSpecial(absl::string_view name, uint64_t nid, Place& place);
  absl::Status AddName(absl::string_view name, uint64_t nid, uint8_t type);
  absl::Status WriteBlock();
  absl::Status WriteInode(const DirectoryInode& from, bool inline_tail, uint64_t size, uint64_t at);

  MetaFile& meta_;
  DirentBlock block_;
  uint64_t self_ = kNoNid;
  uint64_t parent_ = kNoNid;
  int dots_added_ = 0;
  Place dot_place_;
  Place dotdot_place_;
  uint64_t dotdot_ = 0;
  uint64_t first_block_offset_ = 0;
  uint64_t last_block_offset_ = 0;
  uint64_t blocks_ = 0;
};

}  // namespace bucketvol
