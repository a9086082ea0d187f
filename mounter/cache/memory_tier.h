#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "mounter/base/clock.h"
#include "mounter/cache/block_buffer.h"
#include "mounter/cache/memory_budget.h"
#include "mounter/cache/node_share.h"
#include "mounter/cache/resident_list.h"
#include "mounter/cache/slab_source.h"
#include "mounter/cache/unit_arena.h"

namespace bucketvol {

struct MemoryTierSettings {
  uint64_t limit_bytes = 128 << 20;
  uint64_t block_bytes = 64 << 10;   // Longest block. A power of two, at most 1 MiB.
  uint64_t passed_bytes = 32 << 20;  // Of blocks that a stream has passed, at most.
  // A block that nobody uses leaves at the first look after this time (so with one each second within 10 s):
  // one that was read, one of an object that is kept whole, one that was fetched ahead (normally its stream
  // gives it up earlier).
  absl::Duration keep = absl::Seconds(9);
  absl::Duration keep_whole = absl::Seconds(30);
  absl::Duration keep_ahead = absl::Seconds(60);
  NodeShare* node = nullptr;  // Borrowed. Null: nobody else counts.
};

/// What a read does to a block.
enum class BlockRead {
  kPart,   // Takes bytes of it for the first time.
  kRest,   // Takes the last bytes that nobody had read.
  kAgain,  // Takes bytes that somebody has read before.
};

/// Whose blocks may leave to make room.
enum class Evict {
  kRead,  // Those that somebody has read: for what is fetched ahead.
  kAny,   // Those fetched ahead as well: for what somebody waits for.
};

/// The memory of all blocks: a budget, units to put them in, and the complete blocks that make room.
///
/// A block that nobody has read is *ahead*. One that was read to its end, once, is *passed*: the kernel keeps
/// what it has read, so probably it is not wanted again. All others are *cached*. Passed blocks leave first,
/// in the order of their arrival; beyond a small number they leave even while there is room, because their
/// memory, just used, is cheaper than fresh memory. Then cached blocks leave in the order of SIEVE, and last
/// those fetched ahead.
///
/// Thread-safe. Calls Resident::OnEvicted; otherwise nobody, and never under its lock.
class MemoryTier {
 public:
  MemoryTier(const Clock& clock, const MemoryTierSettings& settings);

  /// What a block of `bytes` costs: its whole unit.
  uint64_t Charge(uint64_t bytes) const { return ArenaFor(bytes).unit_bytes(); }
  /// Reserves `bytes`, evicting as far as needed and allowed; false when even that does not make room.
  bool Reserve(uint64_t bytes, Evict evict, Reservation& out);
  Reservation ReserveBeyondLimit(uint64_t bytes) { return budget_.ReserveBeyondLimit(bytes); }
  /// Memory for a block of `bytes`, for which `reservation` of Charge(bytes) pays.
  BlockBuffer NewBuffer(uint64_t bytes, Reservation reservation) {
    return BlockBuffer(ArenaFor(bytes).Get(), std::move(reservation));
  }

  /// Takes complete blocks in, unless they were removed before.
  void Add(absl::Span<const std::shared_ptr<Resident>> residents);
  /// Notes that somebody reads these, before or after they came in.
  struct Touch {
    Resident* resident;
    BlockRead read;
  };
  void OnRead(absl::Span<const Touch> touches);
  /// Forgets one that gave its memory up for other reasons, for ever. The tier may have held the last
  /// reference: it is returned.
  [[nodiscard]] std::shared_ptr<Resident> Remove(Resident& resident);

  /// Evicts what was read until the limit holds again, as far as that is possible.
  void Trim();
  /// Evicts what was not used for long and gives memory back to the kernel; and, where another mount of the
  /// node wants its fair share, what this one has above its own: first what was read, and if that is not
  /// enough what was fetched ahead at the next look.
  void ReleaseIdle();
  /// Evicts all.
  void Clear();

  const MemoryBudget& budget() const { return budget_; }
  /// Bytes held from the kernel.
  uint64_t mapped_bytes() const { return slabs_.bytes(); }

 private:
  const UnitArena& ArenaFor(uint64_t bytes) const { return bytes > small_.unit_bytes() ? large_ : small_; }
  UnitArena& ArenaFor(uint64_t bytes) { return bytes > small_.unit_bytes() ? large_ : small_; }
  bool EvictOne(Evict evict);
  ResidentList& ListLocked(Resident::Place place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TouchLocked(const Touch& touch, absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<Resident> TakeLocked(Evict evict) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<Resident> TakeSurplusPassed();
  void SettleWithNode();
  uint64_t Held() const { return std::max(budget_.used(), slabs_.busy_bytes()); }
  bool IdleLocked(const Resident& resident, absl::Duration now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock& clock_;
  const MemoryTierSettings settings_;
  MemoryBudget budget_;
  SlabSource slabs_;
  UnitArena large_;
  UnitArena small_;  // For blocks of a quarter and less: small objects, and the ends of others.
  std::atomic<bool> above_fair_share_{false};  // At the last look.

  absl::Mutex mu_;  // Leaf.
  ResidentList ahead_ ABSL_GUARDED_BY(mu_);
  ResidentList passed_ ABSL_GUARDED_BY(mu_);
  ResidentList cached_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
