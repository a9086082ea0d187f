#include "mounter/cache/slab_source.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>

namespace bucketvol {
namespace {

char* MapSlab() {
  constexpr size_t kSlab = SlabSource::kSlabBytes;
  void* const mapped =
      mmap(nullptr, 2 * kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<char*>(mapped);
  const size_t head = (kSlab - reinterpret_cast<uintptr_t>(begin) % kSlab) % kSlab;
  char* const slab = begin + head;
  if (head > 0) munmap(begin, head);
  munmap(slab + kSlab, kSlab - head);
  madvise(slab, kSlab, MADV_HUGEPAGE);
  madvise(slab, kSlab, MADV_DONTDUMP);
  return slab;
}

// What the kernel maps there next may be touched again.
void UnmapSlab(char* slab) {
  ASAN_UNPOISON_MEMORY_REGION(slab, SlabSource::kSlabBytes);
  munmap(slab, SlabSource::kSlabBytes);
}

}  // namespace

SlabSource::~SlabSource() {
  absl::MutexLock lock(&mu_);
  for (const Idle& idle : idle_) UnmapSlab(idle.slab);
}

char* SlabSource::Get() {
  {
    absl::MutexLock lock(&mu_);
    if (!idle_.empty()) {
      char* const slab = idle_.back().slab;
      idle_.pop_back();
      return slab;
    }
  }
  char* const slab = MapSlab();
  absl::MutexLock lock(&mu_);
  slabs_ += slab != nullptr ? 1 : 0;
  return slab;
}

void SlabSource::Put(char* slab) {
  const absl::Duration now = clock_.Elapsed();
  absl::MutexLock lock(&mu_);
  idle_.push_back({slab, now});
}

void SlabSource::ReleaseIdleFor(absl::Duration keep) {
  const absl::Duration oldest = clock_.Elapsed() - keep;
  std::vector<Idle> release;
  {
    absl::MutexLock lock(&mu_);
    const auto first_kept =
        std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return idle.since > oldest; });
    release.assign(idle_.begin(), first_kept);
    idle_.erase(idle_.begin(), first_kept);
    slabs_ -= release.size();
  }
  for (const Idle& idle : release) UnmapSlab(idle.slab);
}

uint64_t SlabSource::bytes() const {
  absl::MutexLock lock(&mu_);
  return slabs_ * kSlabBytes;
}

uint64_t SlabSource::busy_bytes() const {
  absl::MutexLock lock(&mu_);
  return (slabs_ - idle_.size()) * kSlabBytes;
}

}  // namespace bucketvol
