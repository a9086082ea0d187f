#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace bucketvol {

// Stored integers are little-endian. The compiler turns these into plain moves.
template <typename Int>
inline void StoreLittle(void* where, Int value) {
  auto* bytes = static_cast<unsigned char*>(where);
  for (unsigned i = 0; i < sizeof(Int); ++i)
    bytes[i] = static_cast<unsigned char>(static_cast<uint64_t>(value) >> (8 * i));
}

template <typename Int>
inline Int LoadLittle(const void* where) {
  const auto* bytes = static_cast<const unsigned char*>(where);
  uint64_t value = 0;
  for (unsigned i = 0; i < sizeof(Int); ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return static_cast<Int>(value);
}

template <typename Int>
inline void AppendLittle(std::string& out, Int value) {
  char bytes[sizeof(Int)];
  StoreLittle(bytes, value);
  out.append(bytes, sizeof(Int));
}

/// Appends `value` as a varint: seven bits a byte, low bits first, high bit set on all but the last (LEB128;
/// ≤ 10 bytes).
void AppendVarint(std::string& out, uint64_t value);

/// Takes a varint off the front of `in`. nullopt, with `in` unspecified, when it is cut off or longer than 64
/// bits.
std::optional<uint64_t> ConsumeVarint(absl::string_view& in);

}  // namespace bucketvol
