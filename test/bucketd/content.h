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

// By reference: how wide vectors are passed depends on the target.
template <typename Word>
[[gnu::always_inline]] inline void Scramble(Word& x) {
  x ^= x >> 29;
  x ^= x << 17;
}

inline uint64_t WordAt(uint64_t seed, uint64_t index) {
  uint64_t word = seed + index * kStep;
  Scramble(word);
  return word;
}

using TwoWords = uint64_t __attribute__((vector_size(16)));
using FourWords = uint64_t __attribute__((vector_size(32)));

// Four vectors at a time, which processors do beside each other.
template <typename Vector>
[[gnu::always_inline]] inline void FillVectors(uint64_t seed, uint64_t index, char* out, size_t words) {
  constexpr size_t kWords = 4 * sizeof(Vector) / 8;
  uint64_t first[kWords];
  for (size_t i = 0; i < kWords; ++i) first[i] = seed + (index + i) * kStep;
  Vector lane[4];
  std::memcpy(lane, first, sizeof(lane));
  for (; words >= kWords; words -= kWords, index += kWords) {
    for (int i = 0; i < 4; ++i, out += sizeof(Vector)) {
      Vector bytes = lane[i];
      Scramble(bytes);
      std::memcpy(out, &bytes, sizeof(Vector));
      lane[i] += kWords * kStep;
    }
  }
  for (; words > 0; --words, out += 8, ++index) {
    const uint64_t word = WordAt(seed, index);
    std::memcpy(out, &word, 8);
  }
}

#ifdef __x86_64__
[[gnu::target("avx2")]] inline void FillWordsAvx2(uint64_t seed, uint64_t index, char* out, size_t words) {
  FillVectors<FourWords>(seed, index, out, words);
}
inline bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }
#else
inline void FillWordsAvx2(uint64_t, uint64_t, char*, size_t) {}
inline bool HasAvx2() { return false; }
#endif

// Every 64-bit target has vectors of two words.
inline void FillWords(uint64_t seed, uint64_t index, char* out, size_t words) {
  return HasAvx2() ? FillWordsAvx2(seed, index, out, words) : FillVectors<TwoWords>(seed, index, out, words);
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
