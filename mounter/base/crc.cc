#include "mounter/base/crc.h"

#include <array>
#include <cstring>

#include "mounter/base/coding.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
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
/// What `kBytes` zero bytes do to a CRC-32C. kBytes is a power of two.
template <size_t kBytes>
class ZeroRun {
 public:
  constexpr ZeroRun() {
    std::array<uint32_t, 32> effect{};  // Of one zero bit on each bit of a CRC, then of 2, 4, 8… zero bits.
    effect[0] = 0x82F63B78u;
    for (unsigned bit = 1; bit < 32; ++bit) effect[bit] = 1u << (bit - 1);
    for (size_t bits = 1; bits < 8 * kBytes; bits *= 2) {
      std::array<uint32_t, 32> twice{};
      for (unsigned bit = 0; bit < 32; ++bit) twice[bit] = Apply(effect, effect[bit]);
      effect = twice;
    }
    for (unsigned byte = 0; byte < 4; ++byte) {
      for (uint32_t value = 0; value < 256; ++value) table_[byte][value] = Apply(effect, value << (8 * byte));
    }
  }

  uint32_t operator()(uint32_t crc) const {
    return table_[0][crc & 0xff] ^ table_[1][crc >> 8 & 0xff] ^ table_[2][crc >> 16 & 0xff] ^
           table_[3][crc >> 24];
  }

 private:
  static constexpr uint32_t Apply(const std::array<uint32_t, 32>& effect, uint32_t crc) {
    uint32_t sum = 0;
    for (unsigned bit = 0; bit < 32; ++bit) sum ^= (crc >> bit & 1) != 0 ? effect[bit] : 0;
    return sum;
  }

  std::array<std::array<uint32_t, 256>, 4> table_{};
};

inline uint64_t LoadWord(const char* data) {
  uint64_t word;
  std::memcpy(&word, data, 8);
  return word;
}

/// Takes runs of 3 × kBytes off `data`. The instruction takes three cycles but one can start in each: three
/// lanes at once.
template <size_t kBytes>
__attribute__((target("sse4.2"))) uint32_t ExtendInLanes(uint32_t crc, absl::string_view& data) {
  static constexpr ZeroRun<kBytes> kShift;
  while (data.size() >= 3 * kBytes) {
    uint64_t first = crc, second = 0, third = 0;
    for (const char* at = data.data(); at < data.data() + kBytes; at += 8) {
      first = _mm_crc32_u64(first, LoadWord(at));
      second = _mm_crc32_u64(second, LoadWord(at + kBytes));
      third = _mm_crc32_u64(third, LoadWord(at + 2 * kBytes));
    }
    crc = kShift(static_cast<uint32_t>(first)) ^ static_cast<uint32_t>(second);
    crc = kShift(crc) ^ static_cast<uint32_t>(third);
    data.remove_prefix(3 * kBytes);
  }
  return crc;
}

__attribute__((target("sse4.2"))) uint32_t ExtendSse42(uint32_t crc, absl::string_view data) {
  crc = ExtendInLanes<4096>(crc, data);
  crc = ExtendInLanes<256>(crc, data);
  uint64_t wide = crc;
  for (; data.size() >= 8; data.remove_prefix(8)) wide = _mm_crc32_u64(wide, LoadWord(data.data()));
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

namespace {

using Crc64Slices = std::array<std::array<uint64_t, 256>, 8>;

/// Table n holds what a byte does to the CRC that is n bytes further on.
constexpr Crc64Slices MakeCrc64Slices() {
  Crc64Slices slices{};
  slices[0] = kCrc64Table;
  for (size_t n = 1; n < slices.size(); ++n) {
    for (size_t byte = 0; byte < 256; ++byte) {
      slices[n][byte] = kCrc64Table[slices[n - 1][byte] & 0xff] ^ (slices[n - 1][byte] >> 8);
    }
  }
  return slices;
}

constexpr Crc64Slices kCrc64Slices = MakeCrc64Slices();

uint64_t ExtendCrc64(uint64_t crc, absl::string_view data) {
  for (; data.size() >= 8; data.remove_prefix(8)) {
    const uint64_t word = crc ^ LoadLittle<uint64_t>(data.data());
    crc = kCrc64Slices[7][word & 0xff] ^ kCrc64Slices[6][word >> 8 & 0xff] ^
          kCrc64Slices[5][word >> 16 & 0xff] ^ kCrc64Slices[4][word >> 24 & 0xff] ^
          kCrc64Slices[3][word >> 32 & 0xff] ^ kCrc64Slices[2][word >> 40 & 0xff] ^
          kCrc64Slices[1][word >> 48 & 0xff] ^ kCrc64Slices[0][word >> 56];
  }
  return Extend(kCrc64Table, crc, data);
}

#if defined(__x86_64__)
/// x^n modulo the polynomial, with the coefficient of x^0 in the highest bit.
constexpr int64_t Crc64Power(unsigned n) {
  uint64_t power = uint64_t{1} << 63;
  for (; n > 0; --n) power = (power >> 1) ^ ((power & 1) != 0 ? 0xC96C5795D7870F42u : 0);
  return static_cast<int64_t>(power);
}

/// Carries 16 bytes over those that follow them in a distance of kBytes: by a product of 64 × 64 bits for
/// each half, which the order of the bits makes one too long (V. Gopal et al., "Fast CRC Computation for
/// Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009).
template <unsigned kBytes>
__attribute__((target("pclmul,sse4.2"))) inline __m128i Carry(__m128i value, __m128i onto) {
  const __m128i powers = _mm_set_epi64x(Crc64Power(8 * kBytes - 1), Crc64Power(8 * kBytes + 63));
  return _mm_xor_si128(onto, _mm_xor_si128(_mm_clmulepi64_si128(value, powers, 0x00),
                                           _mm_clmulepi64_si128(value, powers, 0x11)));
}

__attribute__((target("pclmul,sse4.2"))) uint64_t ExtendCrc64Clmul(uint64_t crc, absl::string_view data) {
  constexpr size_t kLane = 16, kStep = 4 * kLane;
  if (data.size() < 2 * kStep) return ExtendCrc64(crc, data);
  const auto load = [&data](size_t lane) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data.data() + lane * kLane));
  };
  __m128i first = _mm_xor_si128(load(0), _mm_cvtsi64_si128(static_cast<int64_t>(crc)));
  __m128i second = load(1), third = load(2), fourth = load(3);
  for (data.remove_prefix(kStep); data.size() >= kStep; data.remove_prefix(kStep)) {
    first = Carry<kStep>(first, load(0));
    second = Carry<kStep>(second, load(1));
    third = Carry<kStep>(third, load(2));
    fourth = Carry<kStep>(fourth, load(3));
  }
  const __m128i all = Carry<kLane>(Carry<kLane>(Carry<kLane>(first, second), third), fourth);
  char rest[kLane];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), all);
  return ExtendCrc64(ExtendCrc64(0, {rest, kLane}), data);
}
#endif

}  // namespace

uint64_t Crc64(uint64_t crc, absl::string_view data) {
#if defined(__x86_64__)
  static const bool kHasClmul = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.2");
  if (kHasClmul) return ~ExtendCrc64Clmul(~crc, data);
#endif
  return ~ExtendCrc64(~crc, data);
}

}  // namespace bucketvol
