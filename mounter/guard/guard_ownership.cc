// What a guard owns while something of it is mounted, and how others see that.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "mounter/guard/guard.h"
#include "mounter/guard/guard_log.h"

namespace bucketvol {

Outcome<std::optional<LockFile>> Guard::TakeLock(const std::string& lock, const std::string& what) {
  if (lock.empty()) return std::optional<LockFile>();
  auto taken = LockFile::Take(lock);
  if (taken.ok()) return std::optional<LockFile>(std::move(taken.value()));
  if (taken.failure().error == EBUSY) taken.failure().text = what + ": another guard holds " + lock;
  return std::move(taken.failure());
}

Step Guard::TakePlace(const std::string& path, const std::string& lock) {
  ASSIGN_OR_FAIL(std::optional<LockFile> taken, TakeLock(lock, "mount point is busy"));
  places_.push_back(Place{path, std::move(taken)});
  return Nothing{};
}

Step Guard::TakeSource(const std::string& lock) {
  const std::string name = lock.substr(lock.rfind('/') + 1);
  if (std::find(sources_.begin(), sources_.end(), name) != sources_.end()) return Nothing{};
  auto taken = TakeLock(lock, "source is mounted already");
  if (!taken.ok() && taken.failure().error == EBUSY) taken.failure().error = EALREADY;
  if (!taken.ok()) return std::move(taken.failure());
  if (!taken.value()) return Nothing{};
  source_locks_.push_back(std::move(*taken.value()));
  sources_.push_back(name);
  return Nothing{};
}

void Guard::TellClaims() {
  Claims claims;
  claims.fading = phase_ == Phase::kDetaching;
  if (!claims.fading) claims.sources = sources_;
  for (const Place& place : places_) claims.mount_points.push_back(place.path);
  if (auto told = run_directory_->Tell(claims); !told.ok())
    GuardLog("warning: others cannot see what this guard owns: " + told.failure().text);
}

void Guard::DropGonePlaces() {
  const std::vector<MountEntry> table = ReadMountTable();
  const auto gone =
      std::stable_partition(places_.begin(), places_.end(), [&](const Place& at) { return IsIn(table, at); });
  if (gone == places_.end()) return;
  if (gone == places_.begin()) return StartDetaching();
  places_.erase(gone, places_.end());
  TellClaims();
}

void Guard::GiveUpOwnership() {
  TellClaims();
  plan_.mount_point = places_.front().path;
  places_.clear();
  source_locks_.clear();
}

Guard::Place* Guard::PlaceAt(const std::string& path) {
  const auto found =
      std::find_if(places_.begin(), places_.end(), [&](const Place& place) { return place.path == path; });
  return found == places_.end() ? nullptr : &*found;
}

bool Guard::IsIn(const std::vector<MountEntry>& table, const Place& place) {
  if (place.id == 0) return false;
  const auto entry = MountWithId(table, place.id);
  return entry && entry->device == place.device;
}

bool Guard::IsMounted() const {
  const std::vector<MountEntry> table = ReadMountTable();
  return std::any_of(places_.begin(), places_.end(), [&](const Place& place) { return IsIn(table, place); });
}

}  // namespace bucketvol
