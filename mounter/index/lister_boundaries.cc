#include "mounter/index/lister_boundaries.h"

namespace bucketvol {

void BoundarySampler::Add(absl::Span<const ListedObject> objects) {
  const uint64_t end = seen_ + objects.size();
  while (true) {
    const uint64_t next = (boundaries_.size() + 1) * step_;
    if (next > end) break;
    boundaries_.emplace_back(objects[next - seen_ - 1].key);
    if (boundaries_.size() <= most_) continue;
    for (size_t i = 0; 2 * i + 1 < boundaries_.size(); ++i)
      boundaries_[i] = std::move(boundaries_[2 * i + 1]);
    boundaries_.resize(boundaries_.size() / 2);
    step_ *= 2;
  }
  seen_ = end;
}

}  // namespace bucketvol
