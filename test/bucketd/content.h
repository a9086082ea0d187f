#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

/// The bytes of a synthetic object: a pure function of the bucket's seed, the key and the offset, so that
/// whoever knows the three can verify any range without a copy. Every 8-byte word of an object is different
/// (until 2^64 words): shifted, swapped or repeated blocks and bytes of another object never compare equal.
namespace bucketvol::bucketd {

/// Spreads the bits of `x` (the finalizer of splitmix64). A bijection.
inline uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The identity of an object of a synthetic bucket: its content, ETag, size and time are derived from it.
inline uint64_t ObjectSeed(uint64_t bucket_seed, absl::string_view key) {
  uint64_t hash = MixBits(bucket_seed + 0x9e3779b97f4a7c15u) ^ key.size();
  while (key.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, key.data(), 8);
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    hash ^= hash >> 32;
    key.remove_prefix(8);
  }
  uint64_t tail = 0;
  std::memcpy(&tail, key.data(), key.size());
  return MixBits(hash ^ tail);
}

namespace content_internal {

inline constexpr uint64_t kStep =
    0x9e3779b97f4a7c15u;  // Odd: seed + n × step visits every 64-bit value once.

template <typename Word>
inline Word Scramble(Word x) {
  x ^= x >> 29;
  x ^= x << 17;
  return x;
}

inline uint64_t WordAt(uint64_t seed, uint64_t index) { return Scramble(seed + index * kStep); }

// Two words at a time, the vector every 64-bit target has; four of them in flight.
using TwoWords = uint64_t __attribute__((vector_size(16)));

inline void FillWords(uint64_t seed, uint64_t index, char* out, size_t words) {
  const uint64_t first = seed + index * kStep;
  TwoWords lane[4];
  for (uint64_t i = 0; i < 4; ++i) lane[i] = TwoWords{first + 2 * i * kStep, first + (2 * i + 1) * kStep};
  for (; words >= 8; words -= 8, out += 64, index += 8) {
    for (int i = 0; i < 4; ++i) {
      const TwoWords bytes = Scramble(lane[i]);
      std::memcpy(out + 16 * i, &bytes, 16);
      lane[i] += 8 * kStep;
    }
  }
  for (; words > 0; --words, out += 8, ++index) {
    const uint64_t word = WordAt(seed, index);
    std::memcpy(out, &word, 8);
  }
}

}  // namespace content_internal

/// Writes the `size` bytes at `offset` of the object with this seed. Byte n is byte n % 8 (little-endian) of
/// word n / 8.
inline void FillContent(uint64_t object_seed, uint64_t offset, char* out, size_t size) {
  if (const size_t skip = offset % 8; skip != 0 && size > 0) {
    const uint64_t word = content_internal::WordAt(object_seed, offset / 8);
    const size_t part = std::min<size_t>(8 - skip, size);
    std::memcpy(out, reinterpret_cast<const char*>(&word) + skip, part);
    offset += part, out += part, size -= part;
  }
  content_internal::FillWords(object_seed, offset / 8, out, size / 8);
  if (const size_t rest = size % 8; rest != 0) {
    const uint64_t word = content_internal::WordAt(object_seed, offset / 8 + size / 8);
    std::memcpy(out + size - rest, &word, rest);
  }
}

}  // namespace bucketvol::bucketd
