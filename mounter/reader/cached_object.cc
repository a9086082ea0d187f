#include "mounter/reader/cached_object.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"

namespace bucketvol {

ByteRange CachedObject::RangeOf(uint64_t index) const {
  const uint64_t begin = index * geometry_.block_bytes;
  return {begin, std::min(id_.size, begin + geometry_.block_bytes)};
}

std::vector<CachedObject::Run> CachedObject::ClaimLocked(ByteRange range, bool for_readers) {
  std::vector<Run> runs;
  ByteRange covered;  // By the last run.
  for (uint64_t index = range.begin / geometry_.block_bytes; index * geometry_.block_bytes < range.end;
       ++index) {
    if (blocks_.contains(index)) continue;
    auto block = std::make_shared<Block>(RangeOf(index));
    if (runs.empty() || covered.end != block->range.begin || covered.size() >= geometry_.fetch_bytes) {
      runs.emplace_back();
      covered = {block->range.begin, block->range.begin};
    }
    covered.end = block->range.end;
    runs.back().blocks.push_back(block);
    blocks_.emplace(index, std::move(block));
  }
  for (Run& run : runs) {
    auto fetch = std::make_shared<FetchHandle>();
    fetch->range = {run.blocks.front()->range.begin, run.blocks.back()->range.end};
    fetch->for_readers = for_readers;
    for (const std::shared_ptr<Block>& block : run.blocks) block->fetch = fetch;
    run.fetch = std::move(fetch);
  }
  return runs;
}

CachedObject::Joined CachedObject::Join(const std::shared_ptr<PendingRead>& read, ByteRange fetch) {
  absl::MutexLock lock(&mu_);
  Joined joined;
  joined.runs = ClaimLocked(fetch, /*for_readers=*/true);
  read->parts.clear();
  int missing = 1;  // The caller's.
  for (uint64_t index = read->range.begin / geometry_.block_bytes;
       index * geometry_.block_bytes < read->range.end; ++index) {
    const std::shared_ptr<Block>& block = blocks_.at(index);
    const uint64_t needed = std::min(read->range.end, block->range.end) - block->range.begin;
    const bool there = block->valid >= needed;
    if (!there) {
      block->waiters.push_back({read, needed});
      ++missing;
    }
    block->recently_used.store(true, std::memory_order_relaxed);
    read->parts.push_back({block, block->ready()});
  }
  read->missing.store(missing, std::memory_order_release);
  const bool was_stream = stream_.sequential();
  joined.ahead = stream_.Note(read->range, id_.size, geometry_.readahead_bytes);
  joined.new_stream = stream_.sequential() && !was_stream;
  return joined;
}

std::vector<CachedObject::Run> CachedObject::Claim(ByteRange range) {
  absl::MutexLock lock(&mu_);
  return ClaimLocked(range, /*for_readers=*/false);
}

bool CachedObject::AcceptVersion(absl::string_view etag) {
  absl::MutexLock lock(&mu_);
  if (version_.empty()) version_ = std::string(etag);
  return etag.empty() || absl::EqualsIgnoreCase(etag, version_);
}

std::vector<std::shared_ptr<PendingRead>> CachedObject::Advance(Block& block, uint64_t valid) {
  std::vector<std::shared_ptr<PendingRead>> woken;
  absl::MutexLock lock(&mu_);
  block.valid = valid;
  auto& waiters = block.waiters;
  const auto left = std::partition(waiters.begin(), waiters.end(),
                                   [&](const Block::Waiter& waiter) { return waiter.needed > valid; });
  for (auto waiter = left; waiter != waiters.end(); ++waiter) {
    if (waiter->read->Unblock()) woken.push_back(std::move(waiter->read));
  }
  waiters.erase(left, waiters.end());
  if (block.ready()) block.fetch = nullptr;
  return woken;
}

std::vector<std::shared_ptr<PendingRead>> CachedObject::Fail(
    const std::vector<std::shared_ptr<Block>>& blocks) {
  std::vector<std::shared_ptr<PendingRead>> reads;
  absl::MutexLock lock(&mu_);
  for (const std::shared_ptr<Block>& block : blocks) {
    if (block->ready()) continue;
    const auto found = blocks_.find(IndexOf(*block));
    if (found != blocks_.end() && found->second == block) blocks_.erase(found);
    for (Block::Waiter& waiter : block->waiters) reads.push_back(std::move(waiter.read));
    block->waiters.clear();
  }
  return reads;
}

// Whether nobody waits for a block of the fetch and less than half of it is there.
bool CachedObject::UnwantedLocked(const FetchHandle& fetch) const {
  uint64_t arrived = 0;
  for (uint64_t begin = fetch.range.begin; begin < fetch.range.end; begin += geometry_.block_bytes) {
    const auto found = blocks_.find(begin / geometry_.block_bytes);
    if (found == blocks_.end()) continue;
    if (!found->second->waiters.empty()) return false;
    arrived += found->second->valid;
  }
  return arrived * 2 < fetch.range.size();
}

std::vector<std::shared_ptr<const FetchHandle>> CachedObject::Leave(const PendingRead& read) {
  std::vector<std::shared_ptr<const FetchHandle>> unwanted;
  absl::MutexLock lock(&mu_);
  for (const PendingRead::Part& part : read.parts) {
    auto& waiters = part.block->waiters;
    const size_t before = waiters.size();
    waiters.erase(std::remove_if(waiters.begin(), waiters.end(),
                                 [&](const Block::Waiter& waiter) { return waiter.read.get() == &read; }),
                  waiters.end());
    const std::shared_ptr<const FetchHandle> fetch = part.block->fetch;
    if (waiters.size() == before || !fetch->for_readers || !UnwantedLocked(*fetch)) continue;
    unwanted.push_back(fetch);
    absl::erase_if(blocks_, [&](const auto& entry) { return entry.second->fetch == fetch; });
  }
  return unwanted;
}

bool CachedObject::Wanted(const std::vector<std::shared_ptr<Block>>& blocks) const {
  absl::MutexLock lock(&mu_);
  return std::any_of(blocks.begin(), blocks.end(),
                     [](const std::shared_ptr<Block>& block) { return !block->waiters.empty(); });
}

void CachedObject::Drop(const Block& block) {
  std::shared_ptr<Block> keep;  // Freed after the lock was dropped.
  absl::MutexLock lock(&mu_);
  const auto found = blocks_.find(IndexOf(block));
  if (found == blocks_.end() || found->second.get() != &block || !block.ready()) return;
  keep = std::move(found->second);
  blocks_.erase(found);
}

void CachedObject::DropReady() {
  std::vector<std::shared_ptr<Block>> keep;  // Freed after the lock was dropped.
  absl::MutexLock lock(&mu_);
  for (auto& [index, block] : blocks_) {
    if (block->ready()) keep.push_back(block);
  }
  for (const std::shared_ptr<Block>& block : keep) blocks_.erase(IndexOf(*block));
}

}  // namespace bucketvol
