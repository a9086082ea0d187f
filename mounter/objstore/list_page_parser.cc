#include "mounter/objstore/list_page_parser.h"

#include <utility>

#include "mounter/base/status_macros.h"
#include "mounter/objstore/raw_list_page.h"

namespace bucketvol {

absl::StatusOr<ListPage> ParseListPageWithExpat(ListDocument document, Dialect dialect) {
  RawListPage raw(dialect);
  auto arena = std::make_unique_for_overwrite<char[]>(2 * document.size + 1);
  RETURN_IF_ERROR(ReadListPageWithExpat({document.text.get(), document.size}, arena.get(), raw));
  ASSIGN_OR_RETURN(ListPage page, std::move(raw).Finish(std::move(arena)));
  page.body_bytes = document.size;
  return page;
}

absl::StatusOr<ListPage> ParseListPage(ListDocument document, Dialect dialect) {
  document.text[document.size] = '\0';
  RawListPage raw(dialect);
  ASSIGN_OR_RETURN(const bool taken, ScanListPage({document.text.get(), document.size}, raw));
  if (!taken) return ParseListPageWithExpat(std::move(document), dialect);
  ASSIGN_OR_RETURN(ListPage page, std::move(raw).Finish(std::move(document.text)));
  page.body_bytes = document.size;
  return page;
}

bool ListScannerTakes(absl::string_view document, Dialect dialect) {
  const std::string ended(document);
  RawListPage raw(dialect);
  const absl::StatusOr<bool> taken = ScanListPage(ended, raw);
  return taken.ok() && *taken;
}

}  // namespace bucketvol
