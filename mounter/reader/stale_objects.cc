#include "mounter/reader/stale_objects.h"

namespace bucketvol {

absl::Status StaleObjects::Check(const ObjectId& id) const {
  absl::ReaderMutexLock lock(&mu_);
  if (entries_.empty()) return absl::OkStatus();  // Nearly always: spare the hash of the key.
  const auto found = entries_.find(id);
  if (found == entries_.end() || clock_.Elapsed() - found->second.checked >= recheck_)
    return absl::OkStatus();
  return found->second.error;
}

bool StaleObjects::Mark(const ObjectId& id, const absl::Status& error) {
  absl::MutexLock lock(&mu_);
  if (entries_.size() >= kMost) entries_.clear();
  return entries_.insert_or_assign(id, Entry{error, clock_.Elapsed()}).second;
}

}  // namespace bucketvol
