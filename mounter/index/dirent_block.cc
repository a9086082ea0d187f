#include "mounter/index/dirent_block.h"

#include <cstring>

namespace bucketvol {

void DirentBlock::Add(absl::string_view name, uint64_t nid, uint8_t type) {
  entries_[count_++] = {nid, static_cast<uint16_t>(names_bytes_), type, 0};
  std::memcpy(names_ + names_bytes_, name.data(), name.size());
  names_bytes_ += name.size();
}

void DirentBlock::Render(char* block) {
  const size_t head = count_ * sizeof(erofs::Dirent);
  for (size_t i = 0; i < count_; ++i) {
    entries_[i].name_offset = static_cast<uint16_t>(entries_[i].name_offset + head);
  }
  std::memcpy(block, entries_, head);
  std::memcpy(block + head, names_, names_bytes_);
  std::memset(block + head + names_bytes_, 0, erofs::kBlockBytes - head - names_bytes_);
  count_ = names_bytes_ = 0;
}

}  // namespace bucketvol
