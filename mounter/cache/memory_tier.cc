#include "mounter/cache/memory_tier.h"

#include <utility>

namespace bucketvol {

MemoryTier::MemoryTier(const Clock& clock, const MemoryTierSettings& settings)
    : clock_(clock),
      settings_(settings),
      budget_(settings.limit_bytes, settings.node),
      slabs_(clock, settings.keep),
      large_(slabs_, settings.block_bytes),
      small_(slabs_, settings.block_bytes / 4) {}

bool MemoryTier::Reserve(uint64_t bytes, Evict evict, Reservation& out) {
  if (bytes > budget_.limit()) return false;
  if (budget_.TryReserve(bytes, out)) return true;
  while (EvictOne(evict)) {
    if (budget_.TryReserveGranted(bytes, out)) return true;
  }
  return false;
}

bool MemoryTier::EvictOne(Evict evict) {
  std::shared_ptr<Resident> victim;
  {
    absl::MutexLock lock(&mu_);
    victim = TakeLocked(evict);
  }
  if (victim != nullptr) victim->OnEvicted();
  return victim != nullptr;
}

// Of those fetched ahead the latest: they will be read last.
std::shared_ptr<Resident> MemoryTier::TakeLocked(Evict evict) {
  std::shared_ptr<Resident> victim = passed_.TakeNext();
  if (victim == nullptr) victim = cached_.TakeNext();
  if (victim == nullptr && evict == Evict::kAny) victim = ahead_.TakeNewest();
  if (victim != nullptr) victim->place_ = Resident::Place::kGone;
  return victim;
}

ResidentList& MemoryTier::ListLocked(Resident::Place place) {
  if (place == Resident::Place::kPassed) return passed_;
  return place == Resident::Place::kCached ? cached_ : ahead_;
}

void MemoryTier::Add(absl::Span<const std::shared_ptr<Resident>> residents) {
  const absl::Duration now = clock_.Elapsed();
  absl::MutexLock lock(&mu_);
  for (const std::shared_ptr<Resident>& resident : residents) {
    if (resident->place_ == Resident::Place::kGone) continue;
    resident->place_ = resident->wanted_;
    resident->used_ = now;
    ListLocked(resident->place_).Add(resident);
  }
}

void MemoryTier::TouchLocked(const Touch& touch, absl::Duration now) {
  using Place = Resident::Place;
  Resident& resident = *touch.resident;
  resident.used_ = now;
  resident.visited_ = resident.visited_ || touch.read == BlockRead::kAgain;
  const bool passed = touch.read == BlockRead::kRest && !resident.visited_;
  resident.wanted_ = passed ? Place::kPassed : Place::kCached;
  if (resident.place_ == Place::kOutside || resident.place_ == Place::kGone ||
      resident.place_ == resident.wanted_) {
    return;
  }
  std::shared_ptr<Resident> moved = ListLocked(resident.place_).Remove(resident);
  resident.place_ = resident.wanted_;
  ListLocked(resident.place_).Add(std::move(moved));
}

void MemoryTier::OnRead(absl::Span<const Touch> touches) {
  const absl::Duration now = clock_.Elapsed();
  {
    absl::MutexLock lock(&mu_);
    for (const Touch& touch : touches) TouchLocked(touch, now);
  }
  while (const std::shared_ptr<Resident> surplus = TakeSurplusPassed()) surplus->OnEvicted();
}

std::shared_ptr<Resident> MemoryTier::TakeSurplusPassed() {
  absl::MutexLock lock(&mu_);
  if (passed_.size() * settings_.block_bytes <= settings_.passed_bytes) return nullptr;
  std::shared_ptr<Resident> surplus = passed_.TakeNext();
  surplus->place_ = Resident::Place::kGone;
  return surplus;
}

std::shared_ptr<Resident> MemoryTier::Remove(Resident& resident) {
  absl::MutexLock lock(&mu_);
  const Resident::Place place = std::exchange(resident.place_, Resident::Place::kGone);
  if (place == Resident::Place::kOutside || place == Resident::Place::kGone) return nullptr;
  return ListLocked(place).Remove(resident);
}

void MemoryTier::Trim() {
  while (budget_.used() > budget_.granted() && EvictOne(Evict::kRead)) {
  }
}

bool MemoryTier::IdleLocked(const Resident& resident, absl::Duration now) const {
  absl::Duration keep = settings_.keep;
  if (resident.of_ == Resident::Of::kWhole) {
    keep = settings_.keep_whole;
  } else if (resident.place_ == Resident::Place::kAhead) {
    keep = settings_.keep_ahead;
  }
  return now - resident.used_ >= keep;
}

void MemoryTier::ReleaseIdle() {
  const absl::Duration now = clock_.Elapsed();
  std::vector<std::shared_ptr<Resident>> idle;
  {
    absl::MutexLock lock(&mu_);
    for (ResidentList* list : {&ahead_, &passed_, &cached_}) {
      for (Resident* resident = list->oldest(); resident != nullptr;) {
        Resident& looked_at = *std::exchange(resident, ResidentList::Newer(*resident));
        if (!IdleLocked(looked_at, now)) continue;
        looked_at.place_ = Resident::Place::kGone;
        idle.push_back(list->Remove(looked_at));
      }
    }
  }
  for (const std::shared_ptr<Resident>& resident : idle) resident->OnEvicted();
  idle.clear();
  slabs_.ReleaseIdle();
  if (settings_.node != nullptr) SettleWithNode();
}

// Counts slabs, not blocks: of a slab with one block in it nobody else has anything.
void MemoryTier::SettleWithNode() {
  const uint64_t most = settings_.node->MostToKeep();
  const bool above = Held() > most;
  const bool still_above = above_fair_share_.exchange(above) && above;
  while (Held() > most && EvictOne(still_above ? Evict::kAny : Evict::kRead)) {
  }
  if (slabs_.bytes() > most) slabs_.ReleaseUnused();
  settings_.node->Settle(std::max(budget_.used(), slabs_.bytes()));
}

void MemoryTier::Clear() {
  while (EvictOne(Evict::kAny)) {
  }
}

}  // namespace bucketvol
