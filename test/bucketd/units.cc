#include "test/bucketd/units.h"

#include <array>
#include <cmath>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace bucketvol::bucketd {
namespace {

struct Unit {
  absl::string_view name;
  double factor;
};

constexpr std::array<Unit, 10> kSizeUnits = {{{"", 1},
                                              {"B", 1},
                                              {"KB", 1e3},
                                              {"MB", 1e6},
                                              {"GB", 1e9},
                                              {"TB", 1e12},
                                              {"KiB", 1024.0},
                                              {"MiB", 1024.0 * 1024},
                                              {"GiB", 1024.0 * 1024 * 1024},
                                              {"TiB", 1024.0 * 1024 * 1024 * 1024}}};
constexpr std::array<Unit, 3> kTimeUnits = {{{"ms", 1e-3}, {"s", 1}, {"m", 60}}};

template <size_t N>
bool ParseWithUnit(absl::string_view text, const std::array<Unit, N>& units, double& value) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  if (digits == 0 || !absl::SimpleAtod(text.substr(0, digits), &number)) return false;
  for (const Unit& unit : units) {
    if (text.substr(digits) != unit.name) continue;
    value = number * unit.factor;
    return value < 9e18;
  }
  return false;
}

}  // namespace

absl::StatusOr<uint64_t> ParseSize(absl::string_view text) {
  double value = 0;
  if (!ParseWithUnit(text, kSizeUnits, value)) {
    return absl::InvalidArgumentError(absl::StrCat("not a size (such as 100KB or 4MiB): ", text));
  }
  return static_cast<uint64_t>(std::llround(value));
}

absl::StatusOr<uint64_t> ParseRate(absl::string_view text) {
  absl::StatusOr<uint64_t> size = ParseSize(absl::StripSuffix(text, "/s"));
  if (size.ok()) return size;
  return absl::InvalidArgumentError(absl::StrCat("not a rate (such as 50MB/s): ", text));
}

absl::StatusOr<absl::Duration> ParseDelay(absl::string_view text) {
  double seconds = 0;
  if (text == "0") return absl::ZeroDuration();
  if (!ParseWithUnit(text, kTimeUnits, seconds)) {
    return absl::InvalidArgumentError(absl::StrCat("not a time (such as 35ms or 5s): ", text));
  }
  return absl::Seconds(seconds);
}

absl::StatusOr<uint64_t> ParseCount(absl::string_view text) {
  uint64_t value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9' || !absl::SimpleAtoi(text, &value)) {
    return absl::InvalidArgumentError(absl::StrCat("not a number: ", text));
  }
  return value;
}

}  // namespace bucketvol::bucketd
