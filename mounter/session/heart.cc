#include "mounter/session/heart.h"

namespace bucketvol {

std::shared_ptr<Heart> Heart::Start(RequestSlots& slots, Executor& timer) {
  std::shared_ptr<Heart> heart(new Heart(slots, timer));
  heart->Beat();
  return heart;
}

void Heart::Beat() {
  slots_.header().beat.fetch_add(1, std::memory_order_relaxed);
  timer_.PostAfter(kInterval, [weak = weak_from_this()] {
    if (const std::shared_ptr<Heart> heart = weak.lock()) heart->Beat();
  });
}

}  // namespace bucketvol
