#include "mounter/reader/buffer_pool.h"

namespace bucketvol {

void BufferPool::Return::operator()(char* buffer) const {
  if (pool_ != nullptr) {
    pool_->Take(buffer);
  } else {
    delete[] buffer;
  }
}

BufferPool::~BufferPool() {
  absl::MutexLock lock(&mu_);
  for (const char* buffer : free_) delete[] buffer;
}

// `new char[]` without (): bytes nobody has written are never read.
BufferPool::Buffer BufferPool::Get(uint64_t bytes) {
  if (bytes != bytes_) return Buffer(new char[bytes], Return());
  {
    absl::MutexLock lock(&mu_);
    if (!free_.empty()) {
      Buffer buffer(free_.back(), Return(this));
      free_.pop_back();
      return buffer;
    }
  }
  return Buffer(new char[bytes], Return(this));
}

void BufferPool::Take(char* buffer) {
  {
    absl::MutexLock lock(&mu_);
    if (free_.size() < most_) {
      free_.push_back(buffer);
      return;
    }
  }
  delete[] buffer;
}

}  // namespace bucketvol
