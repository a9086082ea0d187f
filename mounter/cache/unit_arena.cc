#include "mounter/cache/unit_arena.h"

#include <sanitizer/asan_interface.h>  // What it defines does nothing without AddressSanitizer.

#include <cstdlib>

#include "mounter/base/log.h"

namespace bucketvol {

char* UnitArena::TakeLocked() {
  if (partial_.empty()) return nullptr;
  const auto slab = partial_.begin();
  char* const unit = slab->first + slab->second.back() * unit_bytes_;
  slab->second.pop_back();
  if (slab->second.empty()) partial_.erase(slab);
  ASAN_UNPOISON_MEMORY_REGION(unit, unit_bytes_);
  return unit;
}

void UnitArena::AddSlab() {
  char* const slab = source_.Get();
  if (slab == nullptr) {
    LogError("the kernel gives no memory for data");
    std::abort();
  }
  FreeUnits units(SlabSource::kSlabBytes / unit_bytes_);
  for (size_t i = 0; i < units.size(); ++i) units[i] = static_cast<uint16_t>(units.size() - 1 - i);
  ASAN_POISON_MEMORY_REGION(slab, SlabSource::kSlabBytes);
  absl::MutexLock lock(&mu_);
  partial_.emplace(slab, std::move(units));
}

UnitArena::Unit UnitArena::Get() {
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      if (char* const unit = TakeLocked()) return Unit(this, unit);
    }
    AddSlab();
  }
}

void UnitArena::Put(char* unit) {
  char* const slab = unit - reinterpret_cast<uintptr_t>(unit) % SlabSource::kSlabBytes;
  {
    absl::MutexLock lock(&mu_);
    ASAN_POISON_MEMORY_REGION(unit, unit_bytes_);
    FreeUnits& free = partial_[slab];
    free.push_back(static_cast<uint16_t>(static_cast<size_t>(unit - slab) / unit_bytes_));
    if (free.size() < SlabSource::kSlabBytes / unit_bytes_) return;
    partial_.erase(slab);
  }
  source_.Put(slab);
}

}  // namespace bucketvol
