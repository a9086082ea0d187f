#include "mounter/reader/recent_failures.h"

#include <algorithm>

namespace bucketvol {
namespace {

constexpr absl::Duration kLong = absl::Seconds(10);
constexpr absl::Duration kMoment = absl::Seconds(1);

bool Overlap(ByteRange a, ByteRange b) { return std::max(a.begin, b.begin) < std::min(a.end, b.end); }

}  // namespace

absl::Status RecentFailures::Check(const ObjectId& id, ByteRange range) const {
  absl::ReaderMutexLock lock(&mu_);
  if (entries_.empty()) return absl::OkStatus();  // Nearly always.
  const absl::Duration now = clock_.Elapsed();
  if (now >= last_until_) return absl::OkStatus();  // Spares the hash of the key.
  const auto found = entries_.find(id);
  if (found == entries_.end() || now >= found->second.until) return absl::OkStatus();
  return Overlap(found->second.range, range) ? found->second.error : absl::OkStatus();
}

void RecentFailures::Note(const ObjectId& id, ByteRange range, const absl::Status& error,
                          absl::Duration took) {
  if (took < kLong) return;
  const absl::Duration now = clock_.Elapsed();
  const absl::Duration until = now + kMoment;
  absl::MutexLock lock(&mu_);
  if (now >= last_until_ || entries_.size() >= kMost) entries_.clear();
  entries_.insert_or_assign(id, Entry{range, error, until});
  last_until_ = until;
}

}  // namespace bucketvol
