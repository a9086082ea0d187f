#include "mounter/options/option_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace bucketvol {
namespace {

constexpr uint32_t kMaxPermissions = 0777;
constexpr uint64_t kMaxId = 0xFFFF'FFFE;  // (uid_t)-1 means "no user" to the kernel.
constexpr double kMaxRate = 1e6;
constexpr int kMaxFractionDigits = 3;
// A worker without a volume needs a few dozen MiB.
constexpr double kMinCpus = 0.1, kMaxCpus = 1024;
constexpr double kMinGiB = 0.125, kMaxGiB = 65'536;
constexpr uint64_t kGiB = 1ULL << 30;
constexpr double kThousandthsOfGiB = 1000;

bool AllDigits(absl::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

/// Splits "12.5" into digits and fraction digits; false if it is neither.
bool IsDecimal(absl::string_view text) {
  const size_t dot = text.find('.');
  if (dot == absl::string_view::npos) return AllDigits(text);
  const absl::string_view fraction = text.substr(dot + 1);
  return AllDigits(text.substr(0, dot)) && AllDigits(fraction) && fraction.size() <= kMaxFractionDigits;
}

struct SizeUnit {
  absl::string_view name;
  uint64_t bytes;
};
constexpr SizeUnit kSizeUnits[] = {
    {"KiB", 1ULL << 10},
    {"MiB", 1ULL << 20},
    {"GiB", 1ULL << 30},
    {"TiB", 1ULL << 40},
    {"KB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
    {"B", 1},
    {"", 1},
};

/// The common shape: parse to an optional, store it, show it.
template <typename T, typename Parse, typename Show>
ValueType ParsedValue(Field<T> field, Parse parse, Show show) {
  ValueType type;
  type.set = [field, parse](absl::string_view text, VolumeOptions& options) {
    auto value = parse(text);
    if (!value.has_value()) return false;
    field(options) = static_cast<T>(*std::move(value));
    return true;
  };
  type.show = [field, show](const VolumeOptions& options) -> std::string {
    return show(ReadField(field, options));
  };
  return type;
}

ValueType Described(ValueType type, std::string hint, std::string accepts) {
  type.hint = std::move(hint);
  type.accepts = std::move(accepts);
  return type;
}

std::string ShowBool(bool value) { return value ? "true" : "false"; }
/// In the largest unit of 1024 that loses nothing.
std::string ShowSize(uint64_t size) {
  for (const absl::string_view name : {"TiB", "GiB", "MiB", "KiB"}) {
    const auto* unit = std::find_if(std::begin(kSizeUnits), std::end(kSizeUnits),
                                    [&](const SizeUnit& candidate) { return candidate.name == name; });
    if (size > 0 && size % unit->bytes == 0) return absl::StrCat(size / unit->bytes, name);
  }
  return absl::StrCat(size, "B");
}
/// 2500 is "2.5".
std::string ShowThousandths(uint64_t value) {
  std::string text = absl::StrFormat("%d.%03d", value / 1000, value % 1000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string ShowText(const std::string& text) { return text; }

}  // namespace

std::optional<uint64_t> ParseInteger(absl::string_view text, uint64_t low, uint64_t high) {
  uint64_t value = 0;
  if (!AllDigits(text) || !absl::SimpleAtoi(text, &value)) return std::nullopt;
  if (value < low || value > high) return std::nullopt;
  return value;
}

std::optional<bool> ParseBool(absl::string_view text) {
  for (const absl::string_view yes : {"true", "1", "yes"}) {
    if (absl::EqualsIgnoreCase(text, yes)) return true;
  }
  for (const absl::string_view no : {"false", "0", "no"}) {
    if (absl::EqualsIgnoreCase(text, no)) return false;
  }
  return std::nullopt;
}

std::optional<uint32_t> ParsePermissions(absl::string_view text) {
  if (text.empty() || text.size() > 4) return std::nullopt;
  uint32_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<uint32_t>(c - '0');
  }
  if (value > kMaxPermissions) return std::nullopt;
  return value;
}

std::optional<double> ParseDecimal(absl::string_view text, double high) {
  double value = 0;
  if (!IsDecimal(text) || !absl::SimpleAtod(text, &value) || value > high) return std::nullopt;
  return value;
}

std::optional<uint64_t> ParseSize(absl::string_view text) {
  for (const SizeUnit& unit : kSizeUnits) {
    absl::string_view digits = text;
    if (!absl::ConsumeSuffix(&digits, unit.name)) continue;
    const std::optional<uint64_t> count =
        ParseInteger(digits, 0, std::numeric_limits<uint64_t>::max() / unit.bytes);
    if (!count.has_value()) return std::nullopt;
    return *count * unit.bytes;
  }
  return std::nullopt;
}

std::optional<absl::Duration> ParseTime(absl::string_view text) {
  constexpr int kMaxDigits = 18;  // Keeps absl's arithmetic far from its "infinite" value.
  if (text.empty() || text.size() > kMaxDigits) return std::nullopt;
  if (text.find_first_not_of("0123456789.hmsd") != absl::string_view::npos) return std::nullopt;
  if (IsDecimal(text)) return ParseTime(absl::StrCat(text, "s"));
  absl::string_view days = text;
  if (absl::ConsumeSuffix(&days, "d")) {
    const std::optional<uint64_t> count = ParseInteger(days, 0, 36'500);
    return count.has_value() ? std::optional(absl::Hours(24) * *count) : std::nullopt;
  }
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration)) return std::nullopt;
  return duration;
}

std::optional<ResourceLimit> ParseResourceLimit(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  absl::string_view rest = lower;
  const size_t c = rest.find('c');
  if (c == absl::string_view::npos || !absl::ConsumeSuffix(&rest, "g")) return std::nullopt;
  const std::optional<double> cpus = ParseDecimal(rest.substr(0, c), kMaxCpus);
  const std::optional<double> gib = ParseDecimal(rest.substr(std::min(c + 1, rest.size())), kMaxGiB);
  if (cpus.value_or(0) < kMinCpus || gib.value_or(0) < kMinGiB) return std::nullopt;
  return ResourceLimit{
      .milli_cpus = static_cast<uint32_t>(std::lround(*cpus * 1000)),
      .memory_bytes = static_cast<uint64_t>(std::llround(*gib * kThousandthsOfGiB)) * kGiB / 1000};
}

ValueType IgnoredValue() {
  ValueType type;
  type.shape = ValueType::Shape::kIgnored;
  type.set = [](absl::string_view, VolumeOptions&) { return true; };
  return type;
}

ValueType FlagValue(Field<bool> field) {
  ValueType type = Described(ParsedValue(std::move(field), ParseBool, ShowBool), "", "true or false");
  type.shape = ValueType::Shape::kFlag;
  return type;
}

ValueType InvertedFlagValue(Field<bool> field) {
  const auto parse = [](absl::string_view text) {
    std::optional<bool> value = ParseBool(text);
    if (value.has_value()) value = !*value;
    return value;
  };
  ValueType type = Described(
      ParsedValue(std::move(field), parse, [](bool value) { return ShowBool(!value); }), "", "true or false");
  type.shape = ValueType::Shape::kFlag;
  return type;
}

ValueType TextValue(std::string hint, Field<std::string> field) {
  return CheckedTextValue(std::move(hint), "a text", std::move(field),
                          [](absl::string_view) { return true; });
}

ValueType PathValue(std::string hint, Field<std::string> field) {
  ValueType type = CheckedTextValue(
      std::move(hint), "an absolute path", std::move(field),
      [](absl::string_view text) { return text[0] == '/' && text.find('\0') == absl::string_view::npos; });
  type.shape = ValueType::Shape::kPath;
  return type;
}

ValueType CheckedTextValue(std::string hint, std::string accepts, Field<std::string> field,
                           bool (*check)(absl::string_view)) {
  const auto parse = [check](absl::string_view text) {
    return text.empty() || check(text) ? std::optional<std::string>(text) : std::nullopt;
  };
  return Described(ParsedValue(std::move(field), parse, ShowText), std::move(hint), std::move(accepts));
}

ValueType IdValue(std::string hint, Field<uint32_t> field) {
  const auto parse = [](absl::string_view text) { return ParseInteger(text, 0, kMaxId); };
  return Described(ParsedValue(std::move(field), parse, [](uint32_t id) { return absl::StrCat(id); }),
                   std::move(hint), absl::StrCat("a number from 0 to ", kMaxId));
}

ValueType PermissionsValue(Field<uint32_t> field) {
  const auto show = [](uint32_t mask) { return absl::StrFormat("%03o", mask); };
  return Described(ParsedValue(std::move(field), ParsePermissions, show), "OCTAL",
                   "1-4 octal digits up to 0777, e.g. 022");
}

ValueType CountValue(const std::string& zero_word, int low, int high, Field<int> field) {
  const auto parse = [zero_word, low, high](absl::string_view text) -> std::optional<uint64_t> {
    if (absl::EqualsIgnoreCase(text, zero_word)) return 0;
    return ParseInteger(text, static_cast<uint64_t>(low), static_cast<uint64_t>(high));
  };
  const auto show = [zero_word](int count) { return count == 0 ? zero_word : absl::StrCat(count); };
  return Described(ParsedValue(std::move(field), parse, show), "N",
                   absl::StrCat("a number from ", low, " to ", high, ", or ", zero_word));
}

ValueType SizeValue(const std::string& zero_word, uint64_t low, uint64_t high, Field<uint64_t> field) {
  const auto parse = [zero_word, low, high](absl::string_view text) -> std::optional<uint64_t> {
    if (absl::EqualsIgnoreCase(text, zero_word)) return 0;
    const std::optional<uint64_t> size = ParseSize(text);
    return size.has_value() && (*size < low || *size > high) ? std::nullopt : size;
  };
  const auto show = [zero_word](uint64_t size) { return size == 0 ? zero_word : ShowSize(size); };
  return Described(ParsedValue(std::move(field), parse, show), "SIZE",
                   absl::StrCat("a size from ", ShowSize(low), " to ", ShowSize(high),
                                " with unit KiB, MiB, GiB, KB, MB or GB, or ", zero_word));
}

ValueType RateValue(Field<double> field) {
  const auto parse = [](absl::string_view text) { return ParseDecimal(text, kMaxRate); };
  const auto show = [](double rate) { return absl::StrFormat("%.10g", rate); };
  return Described(ParsedValue(std::move(field), parse, show), "N",
                   absl::StrFormat("a number from 0 (no limit) to %.0f", kMaxRate));
}

ValueType TimeValue(absl::Duration low, absl::Duration high, Field<absl::Duration> field) {
  const auto parse = [low, high](absl::string_view text) {
    std::optional<absl::Duration> time = ParseTime(text);
    if (time.has_value() && (*time < low || *time > high)) time.reset();
    return time;
  };
  return Described(
      ParsedValue(std::move(field), parse, [](absl::Duration time) { return absl::FormatDuration(time); }),
      "TIME",
      absl::StrCat("a time from ", absl::FormatDuration(low), " to ", absl::FormatDuration(high),
                   " with unit ms, s, m, h or d"));
}

ValueType ResourceLimitValue(Field<std::optional<ResourceLimit>> field) {
  const auto parse = [](absl::string_view text) -> std::optional<std::optional<ResourceLimit>> {
    if (absl::EqualsIgnoreCase(text, "none")) return std::optional<ResourceLimit>();
    const std::optional<ResourceLimit> limit = ParseResourceLimit(text);
    if (!limit.has_value()) return std::nullopt;
    return limit;
  };
  const auto show = [](const std::optional<ResourceLimit>& limit) -> std::string {
    if (!limit.has_value()) return "none";
    const auto gib = std::llround(static_cast<double>(limit->memory_bytes) * kThousandthsOfGiB / kGiB);
    return absl::StrCat(ShowThousandths(limit->milli_cpus), "c", ShowThousandths(static_cast<uint64_t>(gib)),
                        "g");
  };
  return Described(ParsedValue(std::move(field), parse, show), "<cpus>c<GiB>g",
                   "<cpus>c<GiB>g, e.g. \"2c4g\", or none");
}

std::string JoinChoices(const std::vector<std::string>& words) {
  if (words.size() == 1) return words[0];
  return absl::StrCat(absl::StrJoin(words.begin(), words.end() - 1, ", "), " or ", words.back());
}

std::string JoinHint(const std::vector<std::string>& words) { return absl::StrJoin(words, "|"); }

}  // namespace bucketvol
