#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace bucketvol {

/// Keeps a few buffers of one size for their next use: fresh memory of a megabyte costs 256 page faults, more
/// than the copy into it. Thread-safe. Outlives its buffers.
class BufferPool {
 public:
  class Return {
   public:
    explicit Return(BufferPool* pool = nullptr) : pool_(pool) {}
    void operator()(char* buffer) const;

   private:
    BufferPool* pool_;  // Null: the buffer is not of the pool's size.
  };
  using Buffer = std::unique_ptr<char[], Return>;

  /// Keeps at most `most` buffers of `bytes` each.
  BufferPool(uint64_t bytes, size_t most) : bytes_(bytes), most_(most) {}
  ~BufferPool();

  /// A buffer of `bytes`; what it holds is unspecified.
  Buffer Get(uint64_t bytes);

 private:
  void Take(char* buffer);

  const uint64_t bytes_;
  const size_t most_;
  absl::Mutex mu_;  // Leaf.
  std::vector<char*> free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
