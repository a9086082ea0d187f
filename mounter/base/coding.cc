#include "mounter/base/coding.h"

namespace bucketvol {

void AppendVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

std::optional<uint64_t> ConsumeVarint(absl::string_view& in) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const uint64_t byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    if (shift == 63 && byte > 1) return std::nullopt;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace bucketvol
