#include "test/bucketd/synthetic_spec.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/base/status_macros.h"
#include "test/bucketd/key_formula.h"
#include "test/bucketd/units.h"

namespace bucketvol::bucketd {
namespace {

constexpr uint64_t kAbsurdNameBytes = 1'000'000;  // KeyFormula::Check refuses much less.

absl::Status ParseShape(absl::string_view value, SyntheticSpec& spec) {
  constexpr std::pair<const char*, Shape> kShapes[] = {
      {"even", Shape::kEven}, {"flat", Shape::kFlat}, {"skewed", Shape::kSkewed}, {"deep", Shape::kDeep}};
  for (const auto& [name, shape] : kShapes) {
    if (value != name) continue;
    spec.shape = shape;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown shape (even, flat, skewed or deep): ", value));
}

absl::Status ParseSizes(absl::string_view value, SyntheticSpec& spec) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(value, absl::MaxSplits("..", 1));
  ASSIGN_OR_RETURN(spec.min_size, ParseSize(ends.first));
  ASSIGN_OR_RETURN(spec.max_size, ParseSize(ends.second.empty() ? ends.first : ends.second));
  if (spec.min_size <= spec.max_size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("size range is empty: ", value));
}

absl::Status ParseSwitch(absl::string_view value, bool& out) {
  if (value != "on" && value != "off")
    return absl::InvalidArgumentError(absl::StrCat("not on or off: ", value));
  out = value == "on";
  return absl::OkStatus();
}

absl::Status ParseWord(absl::string_view word, absl::string_view value, SyntheticSpec& spec) {
  if (word == "shape") return ParseShape(value, spec);
  if (word == "size") return ParseSizes(value, spec);
  if (word == "crc") return ParseSwitch(value, spec.crc);
  uint64_t name_bytes = spec.name_bytes;
  const std::pair<absl::string_view, uint64_t*> numbers[] = {
      {"keys", &spec.keys}, {"per-dir", &spec.per_dir}, {"name-bytes", &name_bytes}, {"seed", &spec.seed}};
  for (const auto& [name, number] : numbers) {
    if (word != name) continue;
    ASSIGN_OR_RETURN(*number, ParseCount(value));
    spec.name_bytes = static_cast<unsigned>(std::min<uint64_t>(name_bytes, kAbsurdNameBytes));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown word (keys, per-dir, size, name-bytes, shape, seed or crc): ", word));
}

absl::Status ParseWords(absl::string_view words, SyntheticSpec& spec) {
  for (const absl::string_view item : absl::StrSplit(words, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(item, absl::MaxSplits('=', 1));
    RETURN_IF_ERROR(ParseWord(pair.first, pair.second, spec));
  }
  return KeyFormula::Check(spec);
}

}  // namespace

absl::StatusOr<SyntheticSpec> ParseSyntheticSpec(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  SyntheticSpec spec;
  spec.name = std::string(parts.first);
  if (spec.name.empty())
    return absl::InvalidArgumentError(absl::StrCat("no bucket name before ':' in ", text));
  RETURN_IF_ERROR(Annotate(ParseWords(parts.second, spec), "synthetic bucket"));
  return spec;
}

}  // namespace bucketvol::bucketd
