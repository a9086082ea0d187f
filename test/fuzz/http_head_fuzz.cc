#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "mounter/objstore/http_fields.h"
#include "mounter/objstore/http_transport.h"
#include "mounter/objstore/service_error.h"
#include "mounter/objstore/signing_text.h"

namespace bucketvol {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// Each value alone: what is accepted makes sense.
void CheckValue(absl::string_view value) {
  if (const auto range = ParseContentRange(value)) {
    Require(range->range.begin < range->range.end);
    Require(!range->total || range->range.end <= *range->total);
  }
  if (const auto date = ParseHttpDate(value)) Require(ParseHttpDate(HttpDate(*date)) == date);
  (void)ParseIsoMillis(value);
  Require(UnquoteEtag(value).size() <= value.size());
}

}  // namespace
}  // namespace bucketvol

// Heads of answers, line by line, and the values that are parsed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  bucketvol::HttpResponseHead head;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    bucketvol::CheckValue(line);
    if (!head.TakeLine(line)) continue;
    (void)head.ContentLength();
    bucketvol::CheckValue(head.Value("content-range"));
    (void)bucketvol::ReadErrorHead(head);
  }
  return 0;
}
