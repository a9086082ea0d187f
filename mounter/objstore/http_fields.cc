#include "mounter/objstore/http_fields.h"

#include <cstring>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace bucketvol {
namespace {

bool ConsumeNumber(absl::string_view& in, uint64_t& number) {
  const size_t size = in.find_first_not_of("0123456789");
  const absl::string_view digits = in.substr(0, size);
  if (!absl::SimpleAtoi(digits, &number) || number > std::numeric_limits<int64_t>::max()) return false;
  in.remove_prefix(digits.size());
  return true;
}

bool ConsumeOneOf(absl::string_view& in, absl::string_view accepted) {
  if (in.empty() || !absl::StrContains(accepted, in.front())) return false;
  in.remove_prefix(1);
  return true;
}

// The number in digits [at, at + size), or -1.
int Digits(absl::string_view text, size_t at, size_t size) {
  int number = 0;
  for (size_t i = at; i < at + size; ++i) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(text[i]))) return -1;
    number = 10 * number + (text[i] - '0');
  }
  return number;
}

// Days since 1970-01-01 of a Gregorian date (Howard Hinnant, "chrono-compatible low-level date algorithms").
int64_t DaysFromCivil(int year, int month, int day) {
  const int y = month <= 2 ? year - 1 : year;
  const int era = y / 400;
  const int year_of_era = y - era * 400;
  const int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return static_cast<int64_t>(era) * 146097 + day_of_era - 719468;
}

int DaysInMonth(int year, int month) {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

// Milliseconds of ".123" at the front of `text`, which becomes what follows; -1 when no digit follows the
// point.
int ConsumeFraction(absl::string_view& text) {
  if (text.empty() || text.front() != '.') return 0;
  text.remove_prefix(1);
  int millis = 0, scale = 100, count = 0;
  for (; !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text.front()));
       ++count, scale /= 10) {
    millis += scale * (text.front() - '0');
    text.remove_prefix(1);
  }
  return count == 0 ? -1 : millis;
}

// The form all services use, without absl's general parser, which takes longer than the rest of an entry.
std::optional<int64_t> ParseUtcMillis(absl::string_view value) {
  if (value.size() < 20 || value[4] != '-' || value[7] != '-' || value[10] != 'T' || value[13] != ':' ||
      value[16] != ':') {
    return std::nullopt;
  }
  const int year = Digits(value, 0, 4), month = Digits(value, 5, 2), day = Digits(value, 8, 2);
  const int hour = Digits(value, 11, 2), minute = Digits(value, 14, 2), second = Digits(value, 17, 2);
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > DaysInMonth(year, month)) return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return std::nullopt;
  absl::string_view rest = value.substr(19);
  const int millis = ConsumeFraction(rest);
  if (millis < 0 || rest != "Z") return std::nullopt;
  const int64_t seconds = DaysFromCivil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
  return seconds * 1000 + millis;
}

}  // namespace

std::optional<ContentRange> ParseContentRange(absl::string_view value) {
  value = absl::StripAsciiWhitespace(value);
  uint64_t first = 0, last = 0, total = 0;
  if (!absl::ConsumePrefix(&value, "bytes ")) return std::nullopt;
  if (!ConsumeNumber(value, first) || !ConsumeOneOf(value, "-~") || !ConsumeNumber(value, last))
    return std::nullopt;
  if (!ConsumeOneOf(value, "/") || last < first) return std::nullopt;
  const ByteRange range = {first, last + 1};
  if (value == "*") return ContentRange{range, std::nullopt};
  if (!ConsumeNumber(value, total) || !value.empty() || last >= total) return std::nullopt;
  return ContentRange{range, total};
}

std::optional<absl::Time> ParseHttpDate(absl::string_view value) {
  absl::Time time;
  if (!absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", value, &time, nullptr)) return std::nullopt;
  if (time == absl::InfiniteFuture() || time == absl::InfinitePast()) return std::nullopt;
  return time;
}

std::optional<int64_t> ParseIsoMillis(absl::string_view value) {
  if (const std::optional<int64_t> millis = ParseUtcMillis(value)) return millis;
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, value, &time, nullptr)) return std::nullopt;
  if (time == absl::InfiniteFuture() || time == absl::InfinitePast()) return std::nullopt;
  return absl::ToUnixMillis(time);
}

absl::string_view UnquoteEtag(absl::string_view value) {
  absl::string_view inner = value;
  absl::ConsumePrefix(&inner, "W/");
  if (absl::ConsumePrefix(&inner, "\"") && absl::ConsumeSuffix(&inner, "\"")) return inner;
  return value;
}

bool SameEtag(absl::string_view a, absl::string_view b) { return absl::EqualsIgnoreCase(a, b); }

}  // namespace bucketvol
