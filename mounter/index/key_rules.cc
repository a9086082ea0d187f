#include "mounter/index/key_rules.h"

#include "mounter/index/erofs_format.h"

namespace bucketvol {
namespace {

std::optional<SkipReason> WhyNoName(absl::string_view segment) {
  if (segment.empty()) return SkipReason::kEmptySegment;
  if (segment == "." || segment == "..") return SkipReason::kDotSegment;
  if (segment.size() > erofs::kMaxName) return SkipReason::kLongSegment;
  if (segment.find('\0') != absl::string_view::npos) return SkipReason::kNulByte;
  return std::nullopt;
}

}  // namespace

std::optional<SkipReason> WhySkipped(absl::string_view path) {
  while (!path.empty()) {
    const size_t slash = path.find('/');
    if (auto reason = WhyNoName(path.substr(0, slash))) return reason;
    if (slash == absl::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return std::nullopt;
}

}  // namespace bucketvol
