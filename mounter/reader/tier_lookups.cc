#include "mounter/reader/tier_lookups.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mounter/base/log.h"

namespace bucketvol {

/// One fetch while it looks. A tier that answers late finds it ended and does no harm.
class TierLookups::Lookup final : public TierSink {
 public:
  Lookup(TierLookups& lookups, std::shared_ptr<Fetch> fetch, absl::Duration now)
      : began(now), lookups_(lookups), fetch_(std::move(fetch)) {}

  Verdict OnBlock(const TierBlock& block) override {
    if (!Enter()) return Verdict::kNotWanted;
    const bool right = fetch_->TakeFromTier(block);
    if (Leave()) lookups_.End(*this);
    return right ? Verdict::kTaken : Verdict::kWrong;
  }
  void OnEnd() override { Abandon(); }

  /// Ends it, now or when the tier has done with the block that it gives.
  void Abandon() {
    {
      absl::MutexLock lock(&mu_);
      ending_ = true;
      if (inside_ || std::exchange(ended_, true)) return;
    }
    lookups_.End(*this);
  }

  std::shared_ptr<Fetch> TakeFetch() { return std::move(fetch_); }

  const absl::Duration began;

 private:
  bool Enter() {
    absl::MutexLock lock(&mu_);
    inside_ = !ended_;
    return inside_;
  }
  /// Whether it is this call's to end it.
  bool Leave() {
    absl::MutexLock lock(&mu_);
    inside_ = false;
    return ending_ && !std::exchange(ended_, true);
  }

  TierLookups& lookups_;
  std::shared_ptr<Fetch> fetch_;  // Belongs to who is inside, then to who ended it.
  absl::Mutex mu_;                // Leaf.
  bool inside_ ABSL_GUARDED_BY(mu_) = false;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

TierLookups::TierLookups(BlockTier* tier, const Clock& clock, Next next)
    : tier_(tier), clock_(clock), next_(std::move(next)) {}

bool TierLookups::UsableLocked() const { return clock_.Elapsed() >= alone_until_; }

bool TierLookups::Begin(const std::shared_ptr<Fetch>& fetch) {
  if (tier_ == nullptr || fetch->object()->id().etag.empty()) return false;
  const auto lookup = std::make_shared<Lookup>(*this, fetch, clock_.Elapsed());
  {
    absl::MutexLock lock(&mu_);
    if (!UsableLocked()) return false;
    open_.insert(lookup);
  }
  tier_->Find(fetch->Names(), lookup);
  return true;
}

void TierLookups::End(Lookup& lookup) {
  std::shared_ptr<Lookup> last;
  {
    absl::MutexLock lock(&mu_);
    const auto found = open_.find(&lookup);
    last = *found;
    open_.erase(found);
  }
  next_(lookup.TakeFetch());
}

void TierLookups::Tick() {
  const absl::Duration now = clock_.Elapsed();
  std::vector<std::shared_ptr<Lookup>> late;
  {
    absl::MutexLock lock(&mu_);
    for (const std::shared_ptr<Lookup>& lookup : open_) {
      if (now - lookup->began >= kTooLong) late.push_back(lookup);
    }
    if (!late.empty()) alone_until_ = std::max(alone_until_, now + kLeftAlone);
  }
  if (!late.empty()) LogWarning("the cache below the memory does not answer: doing without it for a while");
  for (const std::shared_ptr<Lookup>& lookup : late) lookup->Abandon();
}

void TierLookups::Stop() {
  std::vector<std::shared_ptr<Lookup>> open;
  {
    absl::MutexLock lock(&mu_);
    alone_until_ = absl::InfiniteDuration();
    open.assign(open_.begin(), open_.end());
  }
  for (const std::shared_ptr<Lookup>& lookup : open) lookup->Abandon();
}

}  // namespace bucketvol
