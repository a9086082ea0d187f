#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/synchronization/mutex.h"
#include "mounter/cache/slab_source.h"

namespace bucketvol {

/// Carves slabs into units of one size. A slab goes back to its source when its last unit does.
///
/// Thread-safe. Outlives its units. Units come from the slab with the lowest address that has one, so that
/// the others run empty. AddressSanitizer reports who touches one that was given back.
class UnitArena {
 public:
  /// One unit; given back by the destructor.
  class Unit {
   public:
    Unit() = default;
    Unit(Unit&& other) noexcept : arena_(other.arena_), data_(std::exchange(other.data_, nullptr)) {}
    Unit& operator=(Unit&& other) noexcept {
      std::swap(arena_, other.arena_);
      std::swap(data_, other.data_);
      return *this;
    }
    ~Unit() {
      if (data_ != nullptr) arena_->Put(data_);
    }
    char* data() const { return data_; }

   private:
    friend class UnitArena;
    Unit(UnitArena* arena, char* data) : arena_(arena), data_(data) {}
    UnitArena* arena_ = nullptr;
    char* data_ = nullptr;
  };

  /// Borrows `source`. `unit_bytes` divides the size of a slab.
  UnitArena(SlabSource& source, size_t unit_bytes) : source_(source), unit_bytes_(unit_bytes) {}

  /// A unit whose content is unspecified. Ends the process when the kernel gives no memory: the budget has
  /// allowed it.
  Unit Get();

  size_t unit_bytes() const { return unit_bytes_; }

 private:
  using FreeUnits = std::vector<uint16_t>;  // Of one slab, by number.

  void Put(char* unit);
  void AddSlab();
  char* TakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  SlabSource& source_;
  const size_t unit_bytes_;
  absl::Mutex mu_;  // Leaf.
  // Slabs with a free unit, by address.
  absl::btree_map<char*, FreeUnits> partial_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
