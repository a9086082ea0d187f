#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "mounter/objstore/dialect.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// The XML of one listing answer.
struct ListDocument {
  std::unique_ptr<char[]> text;  // Of size + 1 bytes: the last one is the parser's.
  size_t size = 0;
};

/// Reads a ListBucketResult (version 1 or 2) of either dialect. The document becomes the page's storage: keys
/// are decoded in place and nothing is copied. Whether keys are in order is for the caller to check.
///
/// A document that is not whole and well-formed, lacks IsTruncated, a key or a size, or holds a value that
/// cannot be read is a DataLoss error: never a page that looks like the end of the list.
///
/// Two readers stand behind it: a scanner for the plain form that the services write (about three times as
/// fast) and expat for everything else XML allows. Where both apply they give the same page.
absl::StatusOr<ListPage> ParseListPage(ListDocument document, Dialect dialect);

/// The slow reader alone, for tests that compare the two.
absl::StatusOr<ListPage> ParseListPageWithExpat(ListDocument document, Dialect dialect);

/// Whether the fast reader takes the document.
bool ListScannerTakes(absl::string_view document, Dialect dialect);

}  // namespace bucketvol
