#include "test/bucketd/range.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace bucketvol::bucketd {
namespace {

struct AskedRange {
  std::optional<uint64_t> first;
  std::optional<uint64_t> last;  // Without `first`: the length of a suffix.
};

bool ParseNumber(absl::string_view text, std::optional<uint64_t>& out) {
  if (text.empty()) return true;
  uint64_t value = 0;
  if (text.find_first_not_of("0123456789") != absl::string_view::npos || !absl::SimpleAtoi(text, &value))
    return false;
  out = value;
  return true;
}

bool Parse(absl::string_view text, AskedRange& asked) {
  const size_t dash = text.find('-');
  if (dash == absl::string_view::npos) return false;
  if (!ParseNumber(text.substr(0, dash), asked.first) || !ParseNumber(text.substr(dash + 1), asked.last))
    return false;
  if (!asked.first.has_value()) return asked.last.has_value();
  return !asked.last.has_value() || *asked.first <= *asked.last;
}

RangeAnswer Whole(uint64_t size) { return {RangeAnswer::Kind::kWhole, {0, size}}; }
RangeAnswer Part(uint64_t begin, uint64_t end) { return {RangeAnswer::Kind::kPart, {begin, end}}; }

RangeAnswer Misfit(uint64_t size, RangeRule rule) {
  return rule == RangeRule::kOssPlain ? Whole(size) : RangeAnswer{RangeAnswer::Kind::kUnsatisfiable, {}};
}

RangeAnswer ResolveSuffix(uint64_t length, uint64_t size, RangeRule rule) {
  if (length == 0 || size == 0) return Misfit(size, rule);
  if (length <= size) return Part(size - length, size);
  return rule == RangeRule::kS3 ? Part(0, size) : Whole(size);
}

}  // namespace

RangeAnswer ResolveRange(absl::string_view header, uint64_t size, RangeRule rule) {
  absl::string_view text = header;
  if (!absl::ConsumePrefix(&text, "bytes=")) return Whole(size);
  if (absl::StrContains(text, ",")) return {RangeAnswer::Kind::kSeveral, {0, size}};
  AskedRange asked;
  if (!Parse(text, asked)) return Whole(size);
  if (!asked.first.has_value()) return ResolveSuffix(*asked.last, size, rule);
  if (*asked.first >= size) return Misfit(size, rule);
  if (!asked.last.has_value()) return Part(*asked.first, size);
  if (*asked.last >= size && rule == RangeRule::kOssPlain) return Whole(size);
  return Part(*asked.first, std::min(*asked.last, size - 1) + 1);
}

}  // namespace bucketvol::bucketd
