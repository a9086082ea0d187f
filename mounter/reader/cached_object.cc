#include "mounter/reader/cached_object.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "mounter/prefetch/parts.h"

namespace bucketvol {

void Block::OnEvicted() { object->Drop(*this); }

CachedObject::CachedObject(ObjectId id, const Geometry& geometry) : id_(std::move(id)), geometry_(geometry) {}

ByteRange CachedObject::RangeOf(uint64_t index) const {
  const uint64_t begin = index * geometry_.block_bytes;
  return {begin, std::min(id_.size, begin + geometry_.block_bytes)};
}

// The sixteenths of a block that a read touches.
uint16_t CachedObject::PiecesOf(const Block& block, ByteRange read) const {
  const uint64_t piece = geometry_.block_bytes / 16;
  const uint64_t begin = std::max(read.begin, block.range.begin) - block.range.begin;
  const uint64_t end = std::min(read.end, block.range.end) - block.range.begin;
  const uint64_t first = begin / piece;
  const uint64_t count = (end + piece - 1) / piece - first;
  return static_cast<uint16_t>(((1u << count) - 1) << first);
}

bool CachedObject::AllAskedLocked(const Block& block) const {
  return block.asked == PiecesOf(block, block.range);
}

Stall CachedObject::StallLocked(ByteRange read) const {
  Stall stall = Stall::kNone;
  for (uint64_t index = read.begin / geometry_.block_bytes; index * geometry_.block_bytes < read.end;
       ++index) {
    const auto found = blocks_.find(index);
    if (found == blocks_.end()) return is_small() && queued() ? Stall::kInflight : Stall::kAbsent;
    const Block& block = *found->second;
    if (block.valid < std::min(read.end, block.range.end) - block.range.begin) stall = Stall::kInflight;
  }
  return stall;
}

// What to fetch for a read, and ahead of it.
ByteRange CachedObject::PlanLocked(ByteRange read, const Situation& situation, Joined& joined) {
  joined.stall = StallLocked(read);
  joined.first_touch = !std::exchange(touched_, true);
  last_read_ = situation.now;
  if (is_small()) return situation.room_for_all ? ByteRange{0, id_.size} : read;
  joined.first_stream = !streams_.has_value();
  if (!streams_) BeginStreamsLocked();
  const uint64_t begun = streams_->streams_begun();
  const auto active = static_cast<uint64_t>(std::max(1, streams_->active_streams()));
  const uint64_t ahead = streams_->ScheduledAhead();
  const WindowLimit limit{situation.share->LimitFor(ahead / active), situation.share->LimitFor(ahead)};
  Plan plan = streams_->Note(read, joined.stall, situation.link, limit, situation.now);
  joined.new_streams = streams_->streams_begun() - begun;
  joined.change = ChangeLocked();
  joined.ahead = std::move(plan.ahead);
  return situation.room_for_all ? plan.demand : read;
}

void CachedObject::BeginStreamsLocked() {
  streams_.emplace(id_.size, geometry_.streams);
  if (geometry_.streams.ahead == StreamSettings::Ahead::kOff) return;
  hints_ = FormatHints::For(id_.key, id_.size);
  has_hints_.store(hints_ != nullptr, std::memory_order_release);
}

// The blocks of the range, if all are READY.
CachedObject::Blocks CachedObject::ReadyLocked(ByteRange range) const {
  Blocks ready;
  for (uint64_t index = range.begin / geometry_.block_bytes; index * geometry_.block_bytes < range.end;
       ++index) {
    const auto found = blocks_.find(index);
    if (found == blocks_.end() || !found->second->ready()) return {};
    ready.push_back(found->second);
  }
  return ready;
}

std::optional<CachedObject::Glimpse> CachedObject::TakeGlimpse() {
  absl::MutexLock lock(&mu_);
  if (hints_ == nullptr) return std::nullopt;
  for (const ByteRange& wanted : hints_->wanted()) {
    Blocks ready = ReadyLocked(wanted);
    if (ready.empty()) continue;
    return Glimpse{std::move(hints_), wanted, std::move(ready)};
  }
  return std::nullopt;
}

void CachedObject::ReturnHints(std::unique_ptr<FormatHints> hints, std::vector<uint64_t> boundaries) {
  if (hints->wanted().empty()) {
    has_hints_.store(false, std::memory_order_release);
    hints = nullptr;
  }
  absl::MutexLock lock(&mu_);
  hints_ = std::move(hints);
  if (!boundaries.empty()) streams_->SetBoundaries(std::move(boundaries));
}

CachedObject::StreamsChange CachedObject::ChangeLocked() {
  const StreamsChange now{streams_->active_streams(), static_cast<int64_t>(streams_->ScheduledAhead())};
  const StreamsChange before = std::exchange(noted_, now);
  return {now.streams - before.streams, now.ahead - before.ahead};
}

// A small object is one request, always.
CachedObject::GetShape CachedObject::ShapeOf(ByteRange demand, const Situation& situation) const {
  if (is_small() || !situation.link_idle) return {geometry_.fetch_bytes, situation.gap};
  return {std::min(geometry_.fetch_bytes, PieceBytes(situation.link, demand.size())), situation.gap};
}

// Whether a block behind those of a fetch becomes one of them.
bool CachedObject::FitsLocked(const Block& block, const FetchHandle& fetch, const GetShape& shape) const {
  const ByteRange between{fetch.range.end, block.range.begin};
  if (between.end - fetch.range.begin >= shape.longest) return false;
  return between.empty() || (between.size() <= shape.gap && !ReadyLocked(between).empty());
}

CachedObject::Runs CachedObject::ClaimLocked(ByteRange range, Urgency urgency, const GetShape& shape) {
  Runs runs;
  if (range.empty()) return runs;
  const auto kind = is_small() ? Resident::Of::kWhole : Resident::Of::kParts;
  for (uint64_t index = range.begin / geometry_.block_bytes; index * geometry_.block_bytes < range.end;
       ++index) {
    std::shared_ptr<Block>& block = blocks_[index];
    if (block != nullptr) continue;
    block = std::make_shared<Block>(shared_from_this(), RangeOf(index), kind);
    if (runs.empty() || !FitsLocked(*block, *runs.back().fetch, shape)) {
      runs.push_back({std::make_shared<FetchHandle>(), {}});
      runs.back().fetch->range = {block->range.begin, block->range.begin};
      runs.back().fetch->urgency = urgency;
      if (urgency == Urgency::kPrefetch) runs.back().fetch->purpose.Set(GetPurpose::kPrefetch);
    }
    runs.back().fetch->gaps += block->range.begin - runs.back().fetch->range.end;
    runs.back().fetch->range.end = block->range.end;
    block->fetch = runs.back().fetch;
    runs.back().blocks.push_back(block);
  }
  return runs;
}

BlockRead CachedObject::TouchLocked(Block& block, ByteRange read) const {
  const uint16_t pieces = PiecesOf(block, read);
  const bool again = (block.asked & pieces) == pieces;
  block.asked = static_cast<uint16_t>(block.asked | pieces);
  if (again) return BlockRead::kAgain;
  return AllAskedLocked(block) ? BlockRead::kRest : BlockRead::kPart;
}

void CachedObject::WaitLocked(const std::shared_ptr<PendingRead>& read, Joined& joined) {
  read->parts.clear();
  int missing = 1;  // The caller's.
  for (uint64_t index = read->range.begin / geometry_.block_bytes;
       index * geometry_.block_bytes < read->range.end; ++index) {
    const std::shared_ptr<Block>& block = blocks_.at(index);
    const uint64_t needed = std::min(read->range.end, block->range.end) - block->range.begin;
    if (block->valid < needed) {
      block->waiters.push_back({read, needed});
      ++missing;
      if (std::exchange(block->fetch->urgency, Urgency::kDemand) == Urgency::kPrefetch) {
        block->fetch->purpose.Set(GetPurpose::kDemand);
        joined.raised.push_back(block->fetch);
      }
    }
    joined.touches.push_back({block.get(), TouchLocked(*block, read->range)});
    read->parts.push_back({block, block->ready()});
  }
  read->missing.store(missing, std::memory_order_release);
}

CachedObject::Joined CachedObject::Join(const std::shared_ptr<PendingRead>& read,
                                        const Situation& situation) {
  absl::MutexLock lock(&mu_);
  Joined joined;
  const ByteRange fetch = PlanLocked(read->range, situation, joined);
  joined.runs = ClaimLocked(fetch, Urgency::kDemand, ShapeOf(fetch, situation));
  WaitLocked(read, joined);
  return joined;
}

CachedObject::Runs CachedObject::Claim(ByteRange range) {
  absl::MutexLock lock(&mu_);
  return ClaimLocked(range, Urgency::kPrefetch, {.longest = geometry_.fetch_bytes, .gap = 0});
}

void CachedObject::AppendAbsent(ByteRange range, std::vector<ByteRange>& out) const {
  range.end = std::min(range.end, id_.size);
  const size_t before = out.size();
  absl::MutexLock lock(&mu_);
  for (uint64_t index = range.begin / geometry_.block_bytes; index * geometry_.block_bytes < range.end;
       ++index) {
    if (blocks_.contains(index)) continue;
    const ByteRange block = RangeOf(index);
    if (out.size() > before && out.back().end == block.begin) {
      out.back().end = block.end;
    } else {
      out.push_back(block);
    }
  }
}

// The case of an ETag's letters says nothing: services write the same one in capitals here and in small
// letters there.
bool CachedObject::AcceptVersion(absl::string_view etag) {
  if (etag.empty()) return true;
  if (!id_.etag.empty()) return absl::EqualsIgnoreCase(etag, id_.etag);
  absl::MutexLock lock(&mu_);
  if (version_.empty()) version_ = std::string(etag);
  return absl::EqualsIgnoreCase(etag, version_);
}

namespace {

void Publish(Block& block, uint64_t valid, CachedObject::Reads& woken) {
  block.valid = valid;
  auto& waiters = block.waiters;
  const auto left = std::partition(waiters.begin(), waiters.end(),
                                   [&](const Block::Waiter& waiter) { return waiter.needed > valid; });
  for (auto waiter = left; waiter != waiters.end(); ++waiter) {
    if (waiter->read->Unblock()) woken.push_back(std::move(waiter->read));
  }
  waiters.erase(left, waiters.end());
  if (block.ready()) block.fetch = nullptr;
}

}  // namespace

CachedObject::Reads CachedObject::Advance(Blocks& full, Block* partial, uint64_t valid) {
  Reads woken;
  absl::MutexLock lock(&mu_);
  for (const std::shared_ptr<Block>& block : full) Publish(*block, block->range.size(), woken);
  if (partial != nullptr) Publish(*partial, valid, woken);
  full.erase(std::remove_if(full.begin(), full.end(),
                            [](const std::shared_ptr<Block>& block) { return block->forgotten; }),
             full.end());
  return woken;
}

CachedObject::Reads CachedObject::Fail(absl::Span<const std::shared_ptr<Block>> blocks) {
  Reads reads;
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
  return arrived * 2 < fetch.range.size() + fetch.gaps;  // What was there already counts on neither side.
}

// Makes the blocks ABSENT that the fetch has not filled.
void CachedObject::ForgetLocked(const FetchHandle& fetch) {
  for (uint64_t begin = fetch.range.begin; begin < fetch.range.end; begin += geometry_.block_bytes) {
    const auto found = blocks_.find(begin / geometry_.block_bytes);
    if (found == blocks_.end() || found->second->fetch.get() != &fetch) continue;
    found->second->forgotten = true;
    blocks_.erase(found);
  }
}

CachedObject::Handles CachedObject::Leave(const PendingRead& read) {
  Handles unwanted;
  absl::MutexLock lock(&mu_);
  for (const PendingRead::Part& part : read.parts) {
    auto& waiters = part.block->waiters;
    const size_t before = waiters.size();
    waiters.erase(std::remove_if(waiters.begin(), waiters.end(),
                                 [&](const Block::Waiter& waiter) { return waiter.read.get() == &read; }),
                  waiters.end());
    const std::shared_ptr<FetchHandle> fetch = part.block->fetch;
    if (waiters.size() == before || !UnwantedLocked(*fetch)) continue;
    if (!unwanted.empty() && unwanted.back() == fetch) continue;
    ForgetLocked(*fetch);
    unwanted.push_back(fetch);
  }
  return unwanted;
}

Urgency CachedObject::UrgencyOf(const FetchHandle& fetch) const {
  absl::MutexLock lock(&mu_);
  return fetch.urgency;
}

void CachedObject::Drop(const Block& block) {
  std::shared_ptr<Block> keep;  // Freed after the lock was dropped.
  absl::MutexLock lock(&mu_);
  const auto found = blocks_.find(IndexOf(block));
  if (found == blocks_.end() || found->second.get() != &block || !block.ready()) return;
  keep = std::move(found->second);
  blocks_.erase(found);
}

CachedObject::Blocks CachedObject::DropReady() {
  Blocks dropped;
  absl::MutexLock lock(&mu_);
  for (const auto& [index, block] : blocks_) {
    if (block->ready()) dropped.push_back(block);
  }
  for (const std::shared_ptr<Block>& block : dropped) blocks_.erase(IndexOf(*block));
  return dropped;
}

CachedObject::Blocks CachedObject::DropDelivered(const PendingRead& read) {
  Blocks dropped;
  absl::MutexLock lock(&mu_);
  if (is_small()) {
    for (const auto& [index, block] : blocks_) {
      if (!block->ready() || !AllAskedLocked(*block)) return {};
      dropped.push_back(block);
    }
    blocks_.clear();
    return dropped;
  }
  for (const PendingRead::Part& part : read.parts) {
    const auto found = blocks_.find(IndexOf(*part.block));
    if (found == blocks_.end() || found->second != part.block) continue;
    if (!part.block->ready() || !AllAskedLocked(*part.block)) continue;
    dropped.push_back(part.block);
    blocks_.erase(found);
  }
  return dropped;
}

void CachedObject::AbandonLocked(ByteRange range, Abandoned& out) {
  for (uint64_t begin = range.begin / geometry_.block_bytes * geometry_.block_bytes; begin < range.end;
       begin += geometry_.block_bytes) {
    const auto found = blocks_.find(begin / geometry_.block_bytes);
    if (found == blocks_.end() || found->second->asked != 0) continue;
    const std::shared_ptr<FetchHandle> fetch = found->second->fetch;
    if (fetch == nullptr) {
      out.blocks.push_back(std::move(found->second));
      blocks_.erase(found);
    } else if (fetch->urgency == Urgency::kPrefetch && UnwantedLocked(*fetch)) {
      ForgetLocked(*fetch);
      out.fetches.push_back(fetch);
    }
  }
}

CachedObject::Abandoned CachedObject::Abandon(absl::Duration now) {
  Abandoned out;
  absl::MutexLock lock(&mu_);
  if (!streams_) return out;
  out.ranges = streams_->Abandoned(now);
  for (const ByteRange& range : out.ranges) AbandonLocked(range, out);
  out.change = ChangeLocked();
  out.active = streams_->active_streams();
  return out;
}

absl::Duration CachedObject::last_read() const {
  absl::MutexLock lock(&mu_);
  return last_read_;
}

}  // namespace bucketvol
