#include "mounter/base/crc.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace bucketvol {
namespace {

template <typename Word>
constexpr std::array<Word, 256> MakeTable(Word polynomial) {
  std::array<Word, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    Word value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? polynomial : 0);
    table[i] = value;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kCrc32cTable = MakeTable<uint32_t>(0x82F63B78u);
constexpr std::array<uint64_t, 256> kCrc64Table = MakeTable<uint64_t>(0xC96C5795D7870F42u);

template <typename Word>
Word Extend(const std::array<Word, 256>& table, Word crc, absl::string_view data) {
  for (const char c : data) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t ExtendSse42(uint32_t crc, absl::string_view data) {
  uint64_t wide = crc;
  while (data.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, data.data(), 8);
    wide = _mm_crc32_u64(wide, word);
    data.remove_prefix(8);
  }
  crc = static_cast<uint32_t>(wide);
  for (const char c : data) crc = _mm_crc32_u8(crc, static_cast<unsigned char>(c));
  return crc;
}
#endif

}  // namespace

uint32_t Crc32c(uint32_t crc, absl::string_view data) {
#if defined(__x86_64__)
  static const bool kHasSse42 = __builtin_cpu_supports("sse4.2");
  if (kHasSse42) return ~ExtendSse42(~crc, data);
#endif
  return ~Extend(kCrc32cTable, ~crc, data);
}

uint64_t Crc64(uint64_t crc, absl::string_view data) { return ~Extend(kCrc64Table, ~crc, data); }

}  // namespace bucketvol
