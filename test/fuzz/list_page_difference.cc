#include <cstring>

#include "absl/strings/str_cat.h"
#include "mounter/objstore/list_page_parser.h"
#include "test/fuzz/list_page_fuzz.h"

namespace bucketvol {
namespace {

ListDocument Document(absl::string_view text) {
  ListDocument document{std::make_unique<char[]>(text.size() + 1), text.size()};
  std::memcpy(document.text.get(), text.data(), text.size());
  return document;
}

std::string Render(const absl::StatusOr<ListPage>& page) {
  if (!page.ok()) return absl::StrCat("error ", static_cast<int>(page.status().code()));
  std::string text = absl::StrCat(page->truncated, " ", page->next_token, "\n");
  for (const ListedObject& object : page->objects) {
    absl::StrAppend(&text, object.key, "|", object.etag, "|", object.size, "|", object.modified_ms, "|",
                    static_cast<int>(object.kind), "|", object.archived, "\n");
  }
  for (const absl::string_view prefix : page->common_prefixes)
    absl::StrAppend(&text, "prefix ", prefix, "\n");
  return text;
}

}  // namespace

std::string DifferenceOfListReaders(absl::string_view document) {
  for (const Dialect dialect : {Dialect::kOss, Dialect::kS3}) {
    const std::string fast = Render(ParseListPage(Document(document), dialect));
    const std::string slow = Render(ParseListPageWithExpat(Document(document), dialect));
    if (fast != slow) return absl::StrCat("scanner:\n", fast, "expat:\n", slow);
  }
  return "";
}

}  // namespace bucketvol
