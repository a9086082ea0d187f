#include <algorithm>

#include "mounter/objstore/object_store.h"

namespace bucketvol {

void Cancellation::Cancel() {
  absl::MutexLock lock(&mu_);
  if (cancelled_) return;
  cancelled_ = true;
  if (action_) action_();
  for (auto& [id, action] : actions_) action();
  action_ = nullptr;
  actions_.clear();
}

bool Cancellation::cancelled() const {
  absl::MutexLock lock(&mu_);
  return cancelled_;
}

void Cancellation::OnCancel(std::function<void()> action) {
  absl::MutexLock lock(&mu_);
  action_ = nullptr;
  if (!action) return;
  if (cancelled_) {
    action();
  } else {
    action_ = std::move(action);
  }
}

uint64_t Cancellation::AddAction(std::function<void()> action) {
  absl::MutexLock lock(&mu_);
  const uint64_t id = next_id_++;
  if (cancelled_) {
    action();
  } else {
    actions_.emplace_back(id, std::move(action));
  }
  return id;
}

void Cancellation::RemoveAction(uint64_t id) {
  absl::MutexLock lock(&mu_);
  const auto found =
      std::find_if(actions_.begin(), actions_.end(), [&](auto& entry) { return entry.first == id; });
  if (found == actions_.end()) return;
  std::swap(*found, actions_.back());
  actions_.pop_back();
}

}  // namespace bucketvol
