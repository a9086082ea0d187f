#include "mounter/cache/resident_list.h"

#include <utility>

namespace bucketvol {

void ResidentList::Add(std::shared_ptr<Resident> resident) {
  Resident* const added = resident.get();
  added->self_ = std::move(resident);
  added->older_ = newest_;
  added->newer_ = nullptr;
  (newest_ != nullptr ? newest_->newer_ : oldest_) = added;
  newest_ = added;
  ++size_;
}

std::shared_ptr<Resident> ResidentList::Remove(Resident& resident) {
  if (hand_ == &resident) hand_ = resident.newer_;
  (resident.newer_ != nullptr ? resident.newer_->older_ : newest_) = resident.older_;
  (resident.older_ != nullptr ? resident.older_->newer_ : oldest_) = resident.newer_;
  resident.newer_ = resident.older_ = nullptr;
  --size_;
  return std::move(resident.self_);
}

std::shared_ptr<Resident> ResidentList::TakeNext() {
  if (empty()) return nullptr;
  if (hand_ == nullptr) hand_ = oldest_;
  while (std::exchange(hand_->visited_, false)) hand_ = hand_->newer_ != nullptr ? hand_->newer_ : oldest_;
  return Remove(*hand_);
}

}  // namespace bucketvol
