#include "mounter/index/etag_code.h"

#include <bit>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/coding.h"

namespace bucketvol {
namespace {

static_assert(std::endian::native == std::endian::little);  // Eight digits are handled as one number.

constexpr size_t kDigits = 32;
constexpr size_t kBytes = kDigits / 2;

constexpr uint64_t Repeat(uint64_t byte) { return byte * 0x0101010101010101u; }

// What eight characters are if they are hexadecimal digits; anything for other characters.
uint64_t ValuesOf(uint64_t digits) { return (digits & Repeat(0x0f)) + (digits >> 6 & Repeat(1)) * 9; }

// Eight values from 0 to 15 as digits. `letter_gap` lies between '9' and the first letter: 7 for 'A', 39 for
// 'a'.
uint64_t DigitsOf(uint64_t values, uint64_t letter_gap) {
  const uint64_t letters = (values + Repeat(6)) >> 4 & Repeat(1);
  return values + Repeat('0') + letters * letter_gap;
}

// Eight values to four bytes, the first value in the high half of the first byte.
uint32_t Pack(uint64_t values) {
  values = (values << 4 | values >> 8) & 0x00ff00ff00ff00ffu;
  values = (values | values >> 8) & 0x0000ffff0000ffffu;
  return static_cast<uint32_t>(values | values >> 16);
}

// Turns 32 digits into 16 bytes. kLower, kUpper, or kOpaque when writing the digits again would give others.
EtagKind ParseDigits(absl::string_view digits, char* bytes) {
  uint64_t not_lower = 0, not_upper = 0;
  for (size_t i = 0; i < kDigits; i += 8) {
    uint64_t word;
    std::memcpy(&word, digits.data() + i, 8);
    const uint64_t values = ValuesOf(word) & Repeat(0x0f);
    not_lower |= word ^ DigitsOf(values, 39);
    not_upper |= word ^ DigitsOf(values, 7);
    const uint32_t packed = Pack(values);
    std::memcpy(bytes + i / 2, &packed, 4);
  }
  if (not_lower == 0) return EtagKind::kLower;
  return not_upper == 0 ? EtagKind::kUpper : EtagKind::kOpaque;
}

// The N of "-N", if writing N again gives the same bytes.
std::optional<uint32_t> ParseParts(absl::string_view tail) {
  uint32_t parts;
  if (tail.size() < 2 || tail.front() != '-') return std::nullopt;
  tail.remove_prefix(1);
  if (!absl::SimpleAtoi(tail, &parts) || absl::StrCat(parts) != tail) return std::nullopt;
  return parts;
}

EtagKind AppendOpaque(std::string& out, absl::string_view etag) {
  if (etag.empty()) return EtagKind::kNone;
  AppendVarint(out, etag.size());
  out.append(etag.data(), etag.size());
  return EtagKind::kOpaque;
}

std::string HexOf(absl::string_view bytes, const char* alphabet) {
  std::string digits;
  digits.reserve(kDigits + 8);
  for (const char c : bytes) {
    digits.push_back(alphabet[static_cast<uint8_t>(c) >> 4]);
    digits.push_back(alphabet[static_cast<uint8_t>(c) & 15]);
  }
  return digits;
}

std::optional<absl::string_view> ConsumeBytes(absl::string_view& in, uint64_t size) {
  if (in.size() < size) return std::nullopt;
  const absl::string_view bytes = in.substr(0, size);
  in.remove_prefix(size);
  return bytes;
}

std::optional<absl::string_view> ConsumeOpaque(absl::string_view& in) {
  const auto size = ConsumeVarint(in);
  return size ? ConsumeBytes(in, *size) : std::nullopt;
}

}  // namespace

EtagKind AppendEtag(std::string& out, absl::string_view etag) {
  if (etag.size() < kDigits) return AppendOpaque(out, etag);
  char bytes[kBytes];
  const EtagKind kind = ParseDigits(etag, bytes);
  if (kind == EtagKind::kOpaque) return AppendOpaque(out, etag);
  if (etag.size() == kDigits) {
    out.append(bytes, kBytes);
    return kind;
  }
  const auto parts = ParseParts(etag.substr(kDigits));
  if (!parts) return AppendOpaque(out, etag);
  out.append(bytes, kBytes);
  AppendVarint(out, *parts);
  return kind == EtagKind::kUpper ? EtagKind::kUpperParts : EtagKind::kLowerParts;
}

std::optional<std::string> ConsumeEtag(EtagKind kind, absl::string_view& in) {
  if (kind == EtagKind::kNone) return "";
  if (kind == EtagKind::kOpaque) {
    const auto bytes = ConsumeOpaque(in);
    return bytes ? std::optional<std::string>(std::string(*bytes)) : std::nullopt;
  }
  const auto bytes = ConsumeBytes(in, kBytes);
  if (!bytes) return std::nullopt;
  const bool upper = kind == EtagKind::kUpper || kind == EtagKind::kUpperParts;
  std::string etag = HexOf(*bytes, upper ? "0123456789ABCDEF" : "0123456789abcdef");
  if (kind == EtagKind::kLowerParts || kind == EtagKind::kUpperParts) {
    const auto parts = ConsumeVarint(in);
    if (!parts) return std::nullopt;
    absl::StrAppend(&etag, "-", *parts);
  }
  return etag;
}

bool SkipEtag(EtagKind kind, absl::string_view& in) {
  switch (kind) {
    case EtagKind::kNone:
      return true;
    case EtagKind::kLower:
    case EtagKind::kUpper:
      return ConsumeBytes(in, kBytes).has_value();
    case EtagKind::kLowerParts:
    case EtagKind::kUpperParts:
      return ConsumeBytes(in, kBytes).has_value() && ConsumeVarint(in).has_value();
    case EtagKind::kOpaque:
      return ConsumeOpaque(in).has_value();
  }
  return false;
}

}  // namespace bucketvol
