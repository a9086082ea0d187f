#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"

namespace bucketvol {

/// Hands out slabs of 2 MiB from the kernel and keeps those given back for their next use: memory that was
/// written before costs a quarter of the page faults of fresh memory.
///
/// Thread-safe. Outlives its slabs. Slabs are aligned to their size, so that the kernel can use huge pages,
/// and left out of core dumps: they hold users' data.
class SlabSource {
 public:
  static constexpr size_t kSlabBytes = 2 << 20;

  /// Borrows `clock`. A slab that nobody used for `keep` goes back to the kernel at the next ReleaseIdle.
  SlabSource(const Clock& clock, absl::Duration keep) : clock_(clock), keep_(keep) {}
  ~SlabSource();

  /// A slab whose content is unspecified. Null when the kernel gives no more memory.
  char* Get();
  void Put(char* slab);
  /// Gives slabs back to the kernel that were idle for long.
  void ReleaseIdle() { ReleaseIdleFor(keep_); }
  /// The same for all that nobody uses now.
  void ReleaseUnused() { ReleaseIdleFor(absl::ZeroDuration()); }

  /// Bytes held from the kernel, in use or kept.
  uint64_t bytes() const;
  /// Bytes of slabs in use.
  uint64_t busy_bytes() const;

 private:
  void ReleaseIdleFor(absl::Duration keep);
  struct Idle {
    char* slab;
    absl::Duration since;
  };

  const Clock& clock_;
  const absl::Duration keep_;
  mutable absl::Mutex mu_;                       // Leaf. No system call runs under it.
  std::vector<Idle> idle_ ABSL_GUARDED_BY(mu_);  // In order of return; the last is used first.
  uint64_t slabs_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace bucketvol
