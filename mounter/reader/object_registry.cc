#include "mounter/reader/object_registry.h"

#include <utility>

namespace bucketvol {

std::shared_ptr<CachedObject> ObjectRegistry::Get(const ObjectId& id) {
  Shard& shard = ShardOf(id);
  absl::MutexLock lock(&shard.mu);
  std::weak_ptr<CachedObject>& known = shard.objects[id];
  std::shared_ptr<CachedObject> object = known.lock();
  if (object == nullptr) {
    object = std::shared_ptr<CachedObject>(new CachedObject(id, geometry_),
                                           [this](CachedObject* last) { Destroy(last); });
    known = object;
  }
  return object;
}

void ObjectRegistry::Destroy(CachedObject* object) {
  Shard& shard = ShardOf(object->id());
  {
    absl::MutexLock lock(&shard.mu);
    const auto found = shard.objects.find(object->id());
    // A successor may have taken the place already.
    if (found != shard.objects.end() && found->second.expired()) shard.objects.erase(found);
  }
  delete object;
}

size_t ObjectRegistry::size() const {
  size_t sum = 0;
  for (const Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    sum += shard.objects.size();
  }
  return sum;
}

}  // namespace bucketvol
