#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "mounter/base/byte_range.h"

namespace bucketvol {

/// Reads the header of a safetensors file (8 bytes of length, little-endian; JSON of that length;
/// https://huggingface.co/docs/safetensors).
class SafetensorsHeader {
 public:
  static constexpr uint64_t kMaxHeaderBytes = 16 << 20;

  /// The range of the whole header, told by the first 8 bytes of an object; nullopt when it cannot be one or
  /// is longer than kMaxHeaderBytes.
  static std::optional<ByteRange> Range(absl::string_view first_bytes, uint64_t object_size);

  /// The offsets in the object where tensors begin, and the end of the last: ascending, without repetition.
  /// Small tensors are put together: two offsets are 1 MiB apart at least. `header` holds the bytes of
  /// Range(). nullopt when it is malformed or does not fit the object.
  static std::optional<std::vector<uint64_t>> Boundaries(absl::string_view header, uint64_t object_size);
};

}  // namespace bucketvol
