#include "mounter/reader/block.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mounter/base/crc.h"

namespace bucketvol {

BlockBuffer::BlockBuffer(uint64_t bytes, BufferPool::Buffer memory, Reservation reservation)
    : size_(bytes), reservation_(std::move(reservation)), data_(std::move(memory)) {
  checksums_.reserve((bytes + kChecksumBytes - 1) / kChecksumBytes);
}

void BlockBuffer::Append(absl::Span<const char> data) {
  while (!data.empty()) {
    if (filled_ % kChecksumBytes == 0) checksums_.push_back(0);
    const uint64_t length = std::min<uint64_t>(data.size(), kChecksumBytes - filled_ % kChecksumBytes);
    char* where = data_.get() + filled_;
    std::memcpy(where, data.data(), length);
    checksums_.back() = Crc32c(checksums_.back(), {where, length});
    filled_ += length;
    data.remove_prefix(length);
  }
}

bool BlockBuffer::Verify(ByteRange range) const {
  for (uint64_t piece = range.begin / kChecksumBytes; piece * kChecksumBytes < range.end; ++piece) {
    const uint64_t begin = piece * kChecksumBytes;
    const uint64_t length = std::min(kChecksumBytes, size_ - begin);
    if (Crc32c(0, {data_.get() + begin, length}) != checksums_[piece]) return false;
  }
  return true;
}

}  // namespace bucketvol
