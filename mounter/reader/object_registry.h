#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "mounter/reader/cached_object.h"
#include "mounter/reader/object_id.h"

namespace bucketvol {

/// Finds the one CachedObject of an ObjectId. It exists as long as somebody holds it: a read, a fetch, or a
/// block in memory.
///
/// Thread-safe. Outlives the objects it gave out.
class ObjectRegistry {
 public:
  explicit ObjectRegistry(CachedObject::Geometry geometry) : geometry_(geometry) {}

  std::shared_ptr<CachedObject> Get(const ObjectId& id);
  /// Objects alive.
  size_t size() const;

 private:
  static constexpr size_t kShards = 16;
  struct Shard {
    mutable absl::Mutex mu;  // Leaf. No object is destroyed under it.
    absl::flat_hash_map<ObjectId, std::weak_ptr<CachedObject>> objects ABSL_GUARDED_BY(mu);
  };

  // The shard's map uses the low bits of the same hash.
  Shard& ShardOf(const ObjectId& id) { return shards_[(absl::Hash<ObjectId>()(id) >> 32) % kShards]; }
  void Destroy(CachedObject* object);

  const CachedObject::Geometry geometry_;
  std::array<Shard, kShards> shards_;
};

}  // namespace bucketvol
