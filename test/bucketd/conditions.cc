#include "test/bucketd/conditions.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

bool ModifiedAfter(absl::string_view header, const ObjectMeta& meta, bool otherwise) {
  int64_t when = 0;
  return ParseHttpTime(header, when) ? meta.modified > when : otherwise;
}

}  // namespace

bool EtagListContains(absl::string_view list, absl::string_view etag) {
  for (absl::string_view item : absl::StrSplit(list, ',')) {
    item = absl::StripAsciiWhitespace(item);
    absl::ConsumePrefix(&item, "\"");
    absl::ConsumeSuffix(&item, "\"");
    if (item == "*" || absl::EqualsIgnoreCase(item, etag)) return true;
  }
  return false;
}

Verdict CheckReadConditions(const HttpRequest& request, const ObjectMeta& meta, bool ignore_if_match) {
  if (const auto match = request.Find("if-match"); match.has_value()) {
    if (!ignore_if_match && !EtagListContains(*match, meta.etag)) return Verdict::kFailed;
  } else if (const auto since = request.Find("if-unmodified-since"); since.has_value()) {
    if (ModifiedAfter(*since, meta, false)) return Verdict::kFailed;
  }
  if (const auto none = request.Find("if-none-match"); none.has_value()) {
    if (EtagListContains(*none, meta.etag)) return Verdict::kNotModified;
  } else if (const auto since = request.Find("if-modified-since"); since.has_value()) {
    if (!ModifiedAfter(*since, meta, true)) return Verdict::kNotModified;
  }
  return Verdict::kGoOn;
}

}  // namespace bucketvol::bucketd
