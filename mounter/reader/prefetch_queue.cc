#include "mounter/reader/prefetch_queue.h"

#include <algorithm>
#include <utility>

namespace bucketvol {
namespace {

// What every flow gets in a round, and what its readers' consumption adds to it at most.
constexpr uint64_t kQuantum = 1 << 20;
constexpr uint64_t kMostConsumed = 16 << 20;

/// What is left of an item without a range: the part before it and the part behind it.
std::vector<ByteRange> Without(ByteRange item, ByteRange hole) {
  std::vector<ByteRange> rest;
  if (hole.end <= item.begin || item.end <= hole.begin) return {item};
  if (item.begin < hole.begin) rest.push_back({item.begin, hole.begin});
  if (hole.end < item.end) rest.push_back({hole.end, item.end});
  return rest;
}

}  // namespace

PrefetchQueue::Flow& PrefetchQueue::FlowOf(const CachedObject& object, bool in_front) {
  const auto [known, is_new] = by_key_.try_emplace(KeyOf(object));
  if (is_new) {
    known->second = flows_.insert(in_front ? flows_.begin() : flows_.end(), Flow{KeyOf(object), {}});
  }
  return *known->second;
}

std::vector<ByteRange> PrefetchQueue::NotYetIn(CachedObject& object, ByteRange range) const {
  std::vector<ByteRange> missing = {range};
  if (!object.SetQueued(true)) return missing;
  const auto known = by_key_.find(KeyOf(object));
  if (known == by_key_.end()) return missing;
  for (const Item& item : known->second->items) {
    if (item.object.get() != &object) continue;
    std::vector<ByteRange> rest;
    for (const ByteRange& part : missing) {
      for (const ByteRange& left : Without(part, item.range)) rest.push_back(left);
    }
    missing.swap(rest);
  }
  return missing;
}

void PrefetchQueue::Add(const std::shared_ptr<CachedObject>& object, absl::Span<const ByteRange> ranges) {
  for (const ByteRange& range : ranges) {
    for (ByteRange part : NotYetIn(*object, range)) {
      while (!part.empty()) {
        const uint64_t end = part.begin + std::min(part.size(), part_bytes_);
        FlowOf(*object, /*in_front=*/false).items.push_back({object, {part.begin, end}});
        part.begin = end;
      }
    }
  }
}

std::optional<PrefetchQueue::Item> PrefetchQueue::Take() {
  if (flows_.empty()) return std::nullopt;
  while (flows_.front().items.front().range.size() > flows_.front().deficit) {
    Flow& flow = flows_.front();
    const uint64_t consumed = flow.items.front().object->TakeConsumed();
    flow.deficit += kQuantum + std::min(consumed, kMostConsumed);
    flows_.splice(flows_.end(), flows_, flows_.begin());
  }
  Flow& flow = flows_.front();
  Item item = std::move(flow.items.front());
  flow.items.pop_front();
  if (flow.key == nullptr) item.object->SetQueued(false);
  flow.deficit -= item.range.size();
  if (flow.items.empty()) {
    item.object->SetQueued(false);
    by_key_.erase(flow.key);
    flows_.pop_front();
  }
  return item;
}

void PrefetchQueue::PutBack(Item item) {
  Flow& flow = FlowOf(*item.object, /*in_front=*/true);
  flow.deficit += item.range.size();
  item.object->SetQueued(true);
  flow.items.push_front(std::move(item));
}

std::vector<PrefetchQueue::Item> PrefetchQueue::Drop(CachedObject& object,
                                                     absl::Span<const ByteRange> ranges) {
  std::vector<Item> dropped;
  if (!object.queued()) return dropped;
  const auto known = by_key_.find(KeyOf(object));
  if (known == by_key_.end()) return dropped;
  std::deque<Item>& items = known->second->items;
  for (const ByteRange& hole : ranges) {
    std::deque<Item> kept;
    for (Item& item : items) {
      if (item.object.get() != &object) {
        kept.push_back(std::move(item));
        continue;
      }
      for (const ByteRange& rest : Without(item.range, hole)) kept.push_back({item.object, rest});
      dropped.push_back(std::move(item));
    }
    items.swap(kept);
  }
  object.SetQueued(std::any_of(items.begin(), items.end(),
                               [&](const Item& item) { return item.object.get() == &object; }));
  if (items.empty()) {
    flows_.erase(known->second);
    by_key_.erase(known);
  }
  return dropped;
}

std::vector<PrefetchQueue::Item> PrefetchQueue::DropAll() {
  std::vector<Item> dropped;
  for (Flow& flow : flows_) {
    dropped.insert(dropped.end(), std::make_move_iterator(flow.items.begin()),
                   std::make_move_iterator(flow.items.end()));
  }
  flows_.clear();
  by_key_.clear();
  return dropped;
}

}  // namespace bucketvol
