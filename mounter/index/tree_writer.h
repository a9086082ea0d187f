#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mounter/index/address_space.h"
#include "mounter/index/directory_writer.h"
#include "mounter/index/entry_sorter.h"
#include "mounter/index/index_report.h"
#include "mounter/index/meta_file.h"
#include "mounter/index/spill_stack.h"

namespace bucketvol {

/// How files and directories look.
struct TreeSettings {
  std::string scratch_directory;  // For unnamed temporary files.
  std::string key_prefix;         // Put before paths in the report.
  uint32_t umask = 0022;
  uint32_t uid = 0;
  uint32_t gid = 0;
  size_t memory_bytes =
      0;  // For entries of open directories; beyond it they go to a temporary file. At least 512.
  absl::Time directory_time;  // Of directories without a marker.
};

/// One object that becomes a file.
struct FileFacts {
  uint64_t size = 0;
  int64_t modified_ms = 0;
  bool archived = false;
  Placement place;  // Without meaning when size is 0.
};

/// Turns paths in byte order into the inodes and directories of the image.
///
/// Keeps the stack of open directories; a directory is written when a path leaves it. Its entries wait on a
/// SpillStack: files come in order of their names, sub-directories do not ("a-b/" before "a/"), so the two
/// are merged at the end, and a file whose name is also a directory's is left out and counted. A directory's
/// inode is placed when it closes, so that its entries can lie behind it; ".." of its sub-directories, which
/// close earlier, is patched then. A directory with many sub-directories gets its place before it closes,
/// which bounds the patches that wait. Paths must be acceptable (WhySkipped) and increasing. Not thread-safe.
class TreeWriter {
 public:
  /// Borrows everything for its own life. Counts files, directories and hidden files in `report`.
  TreeWriter(TreeSettings settings, MetaFile& meta, const AddressSpace& space, IndexReport& report);

  /// Opens the root. Before anything else.
  absl::Status Start();
  absl::Status AddFile(absl::string_view path, const FileFacts& file);
  /// `path` is empty (the root) or ends in "/": that directory exists, with this time.
  absl::Status AddMarker(absl::string_view path, int64_t modified_ms);
  /// Closes everything; nothing may follow.
  absl::Status Finish();

  uint64_t root_nid() const { return root_nid_; }
  /// The part of `path` below the open directories it lies in: what precedes it was accepted before.
  absl::string_view NewPart(absl::string_view path) const;

 private:
  struct Directory {
    size_t path_bytes = 0;  // Of path_, with the slash behind this directory's name.
    uint64_t entries = 0;   // Where they begin on the stack.
    uint64_t nid = 0;       // Once it has a place.
    uint32_t subdirectories = 0;
    bool marked = false;
    int64_t modified_ms = 0;        // If marked.
    std::vector<uint64_t> dotdots;  // Numbers in the file to set to `nid`.
  };

  Directory& current() { return open_[depth_]; }
  absl::Status MoveTo(absl::string_view path);
  void Open(absl::string_view name);
  absl::Status Close();
  absl::Status WriteEntries(const Directory& directory);
  absl::Status SortSubdirectories(const Directory& directory);
  absl::Status MergeEntries(const Directory& directory);
  absl::Status Hide(const DirectoryEntry& file);
  DirectoryInode InodeOf(const Directory& directory) const;
  absl::Status SetDotdots(Directory& directory);
  absl::Status AddToParent(absl::string_view name);
  absl::Status WriteFileInode(const FileFacts& file, uint64_t& nid);
  absl::Status Push(const DirectoryEntry& entry);

  const TreeSettings settings_;
  MetaFile& meta_;
  const AddressSpace& space_;
  IndexReport& report_;
  DirectoryWriter writer_;
  SpillStack stack_;
  EntrySorter sorter_;
  std::string path_;             // Of the current directory: "" or ending in "/".
  std::vector<Directory> open_;  // [0, depth_] are open; the rest keep their memory for later.
  size_t depth_ = 0;
  uint64_t root_nid_ = 0;
};

}  // namespace bucketvol
