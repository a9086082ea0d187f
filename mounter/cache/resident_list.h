#pragma once

#include <cstddef>
#include <memory>

#include "absl/time/time.h"

namespace bucketvol {

/// Something that holds memory and can give it up. Belongs to at most one MemoryTier, which owns the members.
class Resident {
 public:
  /// What it is a block of: an object that is fetched in parts, or one that is fetched and kept whole.
  enum class Of { kParts, kWhole };

  explicit Resident(Of of) : of_(of) {}
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;
  virtual ~Resident() = default;
  /// Gives the memory up. The tier calls it without locks and has forgotten the resident before.
  virtual void OnEvicted() = 0;

 private:
  friend class ResidentList;
  friend class MemoryTier;

  enum class Place { kOutside, kAhead, kPassed, kCached, kGone };

  const Of of_;
  // All else is guarded by the lock of the tier.
  Place place_ = Place::kOutside;
  Place wanted_ = Place::kAhead;  // Where it belongs, from the reads so far.
  bool visited_ = false;
  absl::Duration used_;
  Resident* newer_ = nullptr;
  Resident* older_ = nullptr;
  std::shared_ptr<Resident> self_;  // While in a list.
};

/// Residents in the order of their arrival, with the hand of SIEVE: an entry that was visited since the hand
/// came by is passed over once, but keeps its place (https://www.usenix.org/conference/nsdi24: "SIEVE is
/// simpler than LRU"). Not thread-safe.
class ResidentList {
 public:
  void Add(std::shared_ptr<Resident> resident);
  std::shared_ptr<Resident> Remove(Resident& resident);
  /// Takes the next one out that shall leave; null when the list is empty.
  std::shared_ptr<Resident> TakeNext();
  std::shared_ptr<Resident> TakeNewest() { return empty() ? nullptr : Remove(*newest_); }

  bool empty() const { return oldest_ == nullptr; }
  size_t size() const { return size_; }
  Resident* oldest() const { return oldest_; }
  static Resident* Newer(const Resident& resident) { return resident.newer_; }

 private:
  Resident* newest_ = nullptr;
  Resident* oldest_ = nullptr;
  Resident* hand_ = nullptr;  // Null: begins with the oldest.
  size_t size_ = 0;
};

}  // namespace bucketvol
