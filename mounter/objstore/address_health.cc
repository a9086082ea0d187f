#include "mounter/objstore/address_health.h"

#include <algorithm>

namespace bucketvol {
namespace {

// The slowest of healthy services sends a first byte sooner, or a byte to somebody else.
constexpr absl::Duration kLongestSilence = absl::Seconds(1);
constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr int kMostDoublings = 6;  // To about a minute.
// Services have a dozen addresses at a time. What their names no longer lead to is forgotten with the rest.
constexpr size_t kMostEntries = 256;

}  // namespace

bool AddressHealth::InTrouble(Key address) const {
  const auto found = entries_.find(address);
  return found != entries_.end() && found->second.probes >= 0;
}

bool AddressHealth::ProbeIsDue(Key address, absl::Duration now) const {
  const auto found = entries_.find(address);
  return found != entries_.end() && found->second.probes >= 0 && now >= found->second.next_probe;
}

void AddressHealth::OnProbe(Key address, absl::Duration now) {
  const auto found = entries_.find(address);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.probes = std::min(entry.probes + 1, kMostDoublings);
  entry.next_probe = now + kFirstPause * (1 << entry.probes);
}

void AddressHealth::OnBytes(Key address, absl::Duration connected) {
  const auto found = entries_.find(address);
  if (found == entries_.end()) return;
  if (found->second.probes < 0 || connected > found->second.began) {
    entries_.erase(found);
  } else {
    found->second.silence = absl::ZeroDuration();
  }
}

void AddressHealth::OnFailure(Key address, absl::Duration now) {
  if (entries_.size() >= kMostEntries) entries_.clear();
  Entry& entry = entries_[address];
  if (entry.probes >= 0) return;  // One that is known, or a probe that failed.
  entry.probes = 0;
  entry.began = now;
  entry.next_probe = now + kFirstPause;
}

void AddressHealth::OnSilence(Key address, absl::Duration since, absl::Duration now) {
  if (entries_.size() >= kMostEntries) entries_.clear();
  Entry& entry = entries_[address];
  entry.silence += std::max(now - std::max(since, entry.counted), absl::ZeroDuration());
  entry.counted = now;
  if (entry.silence >= kLongestSilence) OnFailure(address, now);
}

}  // namespace bucketvol
