#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "mounter/base/byte_range.h"
#include "mounter/reader/cached_object.h"

namespace bucketvol {

/// What shall be fetched ahead and has not begun, shared fairly: deficit round robin over flows, where a flow
/// gets more the more its readers consume. A large object is a flow, and so are all small objects together.
///
/// Not thread-safe.
class PrefetchQueue {
 public:
  struct Item {
    std::shared_ptr<CachedObject> object;
    ByteRange range;
  };

  /// `part_bytes`: longest item.
  explicit PrefetchQueue(uint64_t part_bytes) : part_bytes_(part_bytes) {}

  /// Adds ranges behind those of their flow, but for what is in the queue already.
  void Add(const std::shared_ptr<CachedObject>& object, absl::Span<const ByteRange> ranges);
  /// Takes the next item out.
  std::optional<Item> Take();
  /// Puts an item back that was just taken: it comes next again.
  void PutBack(Item item);
  /// Takes what lies in these ranges of an object out. The items are returned: their objects may die with
  /// them.
  std::vector<Item> Drop(CachedObject& object, absl::Span<const ByteRange> ranges);
  std::vector<Item> DropAll();

  bool empty() const { return flows_.empty(); }

 private:
  struct Flow {
    const CachedObject* key;  // Null: of small objects.
    std::deque<Item> items;   // Never empty.
    uint64_t deficit = 0;     // Bytes it may still take in this round.
  };
  using Flows = std::list<Flow>;

  static const CachedObject* KeyOf(const CachedObject& object) {
    return object.is_small() ? nullptr : &object;
  }
  std::vector<ByteRange> NotYetIn(CachedObject& object, ByteRange range) const;
  Flow& FlowOf(const CachedObject& object, bool in_front);

  const uint64_t part_bytes_;
  Flows flows_;  // In the order of their turns.
  absl::flat_hash_map<const CachedObject*, Flows::iterator> by_key_;
};

}  // namespace bucketvol
