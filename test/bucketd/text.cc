#include "test/bucketd/text.h"

#include <time.h>

#include <array>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace bucketvol::bucketd {
namespace {

constexpr char kLowerDigits[] = "0123456789abcdef";
constexpr char kUpperDigits[] = "0123456789ABCDEF";

char* WriteTwo(unsigned value, char* out) {
  out[0] = static_cast<char>('0' + value / 10);
  out[1] = static_cast<char>('0' + value % 10);
  return out + 2;
}

struct CivilTime {
  int year;
  unsigned month, day, hour, minute, second, weekday;
};

// Days to civil date by H. Hinnant's algorithm ("chrono-compatible low-level date algorithms").
CivilTime ToCivil(int64_t unix_seconds) {
  int64_t days = unix_seconds / 86'400;
  int64_t rest = unix_seconds % 86'400;
  if (rest < 0) rest += 86'400, --days;
  CivilTime civil;
  civil.weekday = static_cast<unsigned>(((days + 4) % 7 + 7) % 7);
  civil.hour = static_cast<unsigned>(rest / 3600);
  civil.minute = static_cast<unsigned>(rest / 60 % 60);
  civil.second = static_cast<unsigned>(rest % 60);
  days += 719'468;
  const int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const auto day_of_era = static_cast<unsigned>(days - era * 146'097);
  const unsigned year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const unsigned shifted_month = (5 * day_of_year + 2) / 153;
  civil.day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
  civil.month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  civil.year = static_cast<int>(year_of_era + era * 400) + (civil.month <= 2 ? 1 : 0);
  return civil;
}

char* WriteClock(const CivilTime& civil, char* out) {
  out = WriteTwo(civil.hour, out);
  *out++ = ':';
  out = WriteTwo(civil.minute, out);
  *out++ = ':';
  return WriteTwo(civil.second, out);
}

constexpr std::array<bool, 256> MakeUnreserved() {
  std::array<bool, 256> table{};
  for (unsigned c = 0; c < 256; ++c) {
    table[c] = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '.' || c == '_' || c == '~';
  }
  return table;
}
constexpr std::array<bool, 256> kUnreserved = MakeUnreserved();

int HexValue(char c) { return absl::ascii_isxdigit(c) ? (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10) : -1; }

size_t Utf8SequenceLength(absl::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : (lead >> 4) == 14           ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

void AppendJsonUnicode(std::string& out, unsigned char byte) {
  out += "\\u00";
  out += kLowerDigits[byte >> 4];
  out += kLowerDigits[byte & 15];
}

}  // namespace

char* WritePadded(uint64_t value, unsigned width, char* out) {
  for (unsigned i = width; i-- > 0; value /= 10) out[i] = static_cast<char>('0' + value % 10);
  return out + width;
}

char* WriteDecimal(uint64_t value, char* out) {
  unsigned digits = 1;
  for (uint64_t rest = value; rest >= 10; rest /= 10) ++digits;
  return WritePadded(value, digits, out);
}

char* WriteHex32(uint32_t value, char* out) {
  for (int i = 0; i < 8; ++i) out[i] = kLowerDigits[(value >> (28 - 4 * i)) & 15];
  return out + 8;
}

char* WriteHex64(uint64_t value, char* out, bool upper) {
  const char* digits = upper ? kUpperDigits : kLowerDigits;
  for (int i = 0; i < 16; ++i) out[i] = digits[(value >> (60 - 4 * i)) & 15];
  return out + 16;
}

char* WriteIsoTime(int64_t unix_seconds, char* out) {
  const CivilTime civil = ToCivil(unix_seconds);
  out = WritePadded(static_cast<uint64_t>(civil.year), 4, out);
  *out++ = '-';
  out = WriteTwo(civil.month, out);
  *out++ = '-';
  out = WriteTwo(civil.day, out);
  *out++ = 'T';
  out = WriteClock(civil, out);
  std::memcpy(out, ".000Z", 5);
  return out + 5;
}

char* WriteHttpTime(int64_t unix_seconds, char* out) {
  constexpr char kDays[] = "SunMonTueWedThuFriSat";
  constexpr char kMonths[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const CivilTime civil = ToCivil(unix_seconds);
  std::memcpy(out, kDays + 3 * civil.weekday, 3);
  std::memcpy(out + 3, ", ", 2);
  out = WriteTwo(civil.day, out + 5);
  *out++ = ' ';
  std::memcpy(out, kMonths + 3 * (civil.month - 1), 3);
  out[3] = ' ';
  out = WritePadded(static_cast<uint64_t>(civil.year), 4, out + 4);
  *out++ = ' ';
  out = WriteClock(civil, out);
  std::memcpy(out, " GMT", 4);
  return out + 4;
}

std::string HttpTime(int64_t unix_seconds) {
  char buffer[64];
  return std::string(buffer, WriteHttpTime(unix_seconds, buffer));
}

std::string IsoTime(int64_t unix_seconds) {
  char buffer[64];
  return std::string(buffer, WriteIsoTime(unix_seconds, buffer));
}

bool ParseHttpTime(absl::string_view text, int64_t& unix_seconds) {
  const std::string copy(text);
  for (const char* format : {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y",
                             "%a, %d %b %Y %H:%M:%S +0000"}) {
    struct tm fields = {};
    const char* end = strptime(copy.c_str(), format, &fields);
    if (end == nullptr || *end != '\0') continue;
    unix_seconds = timegm(&fields);
    return true;
  }
  return false;
}

void AppendPercentEncoded(std::string& out, absl::string_view text, absl::string_view keep) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kUnreserved[byte] || keep.find(c) != absl::string_view::npos) {
      out += c;
    } else {
      const char escaped[3] = {'%', kUpperDigits[byte >> 4], kUpperDigits[byte & 15]};
      out.append(escaped, 3);
    }
  }
}

std::string PercentEncode(absl::string_view text, absl::string_view keep) {
  std::string out;
  AppendPercentEncoded(out, text, keep);
  return out;
}

std::string PercentDecode(absl::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexValue(text[i + 1]) >= 0 && HexValue(text[i + 2]) >= 0) {
      out += static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' && plus_is_space ? ' ' : text[i];
    }
  }
  return out;
}

void AppendXmlEscaped(std::string& out, absl::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "&#";
      out += std::to_string(byte);
      out += ';';
    } else {
      out += c;
    }
  }
}

void AppendJsonEscaped(std::string& out, absl::string_view text) {
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    size_t length = 1;
    if (text[0] == '"' || text[0] == '\\') {
      out += '\\';
      out += text[0];
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += text[0];
    } else if (const size_t sequence = byte < 0x80 ? 0 : Utf8SequenceLength(text); sequence != 0) {
      length = sequence;
      out.append(text.data(), length);
    } else {
      AppendJsonUnicode(out, byte);
    }
    text.remove_prefix(length);
  }
}

std::string ToUpper(absl::string_view text) { return absl::AsciiStrToUpper(text); }
std::string HexLower(absl::string_view bytes) { return absl::BytesToHexString(bytes); }

}  // namespace bucketvol::bucketd
