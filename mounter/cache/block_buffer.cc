#include "mounter/cache/block_buffer.h"

#include <algorithm>
#include <cstring>

#include "mounter/base/crc.h"

namespace bucketvol {

// In steps that stay in the first-level cache between the copy and the checksum.
void BlockBuffer::Append(absl::Span<const char> data) {
  constexpr size_t kStep = 12'288;
  while (!data.empty()) {
    const size_t length = std::min(data.size(), kStep);
    char* const where = unit_.data() + filled_;
    std::memcpy(where, data.data(), length);
    checksum_ = Crc32c(checksum_, {where, length});
    filled_ += length;
    data.remove_prefix(length);
  }
}

bool BlockBuffer::Verify() const { return Crc32c(0, {unit_.data(), filled_}) == checksum_; }

}  // namespace bucketvol
