#include "mounter/reader/block_eviction.h"

#include <utility>

namespace bucketvol {

void BlockEviction::Add(Entry entry) {
  absl::MutexLock lock(&mu_);
  queue_.push_back(std::move(entry));
}

std::optional<BlockEviction::Entry> BlockEviction::Take() {
  absl::MutexLock lock(&mu_);
  // Each block loses its mark at most once here; readers may set marks meanwhile, hence the bound.
  for (size_t turns = 2 * queue_.size(); !queue_.empty(); --turns) {
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    if (turns <= 1 || !entry.block->recently_used.exchange(false, std::memory_order_relaxed)) return entry;
    queue_.push_back(std::move(entry));
  }
  return std::nullopt;
}

std::vector<BlockEviction::Entry> BlockEviction::TakeAll() {
  absl::MutexLock lock(&mu_);
  std::vector<Entry> entries(std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
  queue_.clear();
  return entries;
}

}  // namespace bucketvol
