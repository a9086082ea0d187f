#include "mounter/index/etag_code.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/coding.h"

namespace bucketvol {
namespace {

constexpr size_t kDigits = 32;
constexpr size_t kBytes = kDigits / 2;

// Per byte: the digit's value, and in the high bits whether it is a small letter, a capital, or no digit at
// all.
constexpr uint8_t kSmall = 0x10, kCapital = 0x20, kNoDigit = 0x40;

constexpr std::array<uint8_t, 256> MakeDigits() {
  std::array<uint8_t, 256> table{};
  for (auto& entry : table) entry = kNoDigit;
  for (uint8_t i = 0; i < 10; ++i) table['0' + i] = i;
  for (uint8_t i = 0; i < 6; ++i) {
    table['a' + i] = static_cast<uint8_t>((10 + i) | kSmall);
    table['A' + i] = static_cast<uint8_t>((10 + i) | kCapital);
  }
  return table;
}
constexpr std::array<uint8_t, 256> kDigitOf = MakeDigits();

// Returns the marks of all digits together.
uint8_t ParseDigits(absl::string_view digits, char* bytes) {
  uint8_t marks = 0;
  for (size_t i = 0; i < kBytes; ++i) {
    const uint8_t high = kDigitOf[static_cast<uint8_t>(digits[2 * i])];
    const uint8_t low = kDigitOf[static_cast<uint8_t>(digits[2 * i + 1])];
    marks |= high | low;
    bytes[i] = static_cast<char>(high << 4 | (low & 15));
  }
  return marks & 0xf0;
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
  const uint8_t marks = ParseDigits(etag, bytes);
  if ((marks & kNoDigit) != 0 || marks == (kSmall | kCapital)) return AppendOpaque(out, etag);
  const bool upper = marks == kCapital;
  if (etag.size() == kDigits) {
    out.append(bytes, kBytes);
    return upper ? EtagKind::kUpper : EtagKind::kLower;
  }
  const auto parts = ParseParts(etag.substr(kDigits));
  if (!parts) return AppendOpaque(out, etag);
  out.append(bytes, kBytes);
  AppendVarint(out, *parts);
  return upper ? EtagKind::kUpperParts : EtagKind::kLowerParts;
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
