#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "mounter/index/erofs_format.h"

namespace bucketvol {

/// Gathers the entries of one EROFS directory block: entries from the front, then their names.
class DirentBlock {
 public:
  bool Fits(absl::string_view name) const {
    return bytes() + sizeof(erofs::Dirent) + name.size() <= erofs::kBlockBytes;
  }
  /// Only when it fits.
  void Add(absl::string_view name, uint64_t nid, uint8_t type);

  bool empty() const { return count_ == 0; }
  size_t bytes() const { return count_ * sizeof(erofs::Dirent) + names_bytes_; }
  /// Where the number of the last entry added will lie in the block.
  size_t last_nid_offset() const { return (count_ - 1) * sizeof(erofs::Dirent); }

  /// Writes a whole block, zeros behind bytes(), and empties this one.
  void Render(char* block);

 private:
  static constexpr size_t kMost = erofs::kBlockBytes / (sizeof(erofs::Dirent) + 1);
  size_t count_ = 0;
  size_t names_bytes_ = 0;
  erofs::Dirent entries_[kMost + 1];
  char names_[erofs::kBlockBytes];
};

}  // namespace bucketvol
