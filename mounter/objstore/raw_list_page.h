#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/objstore/dialect.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// Texts of one Contents element.
struct RawListEntry {
  absl::string_view key, etag, modified, size, storage_class, type, restore;
};

/// What both readers of listings fill: the texts of a page, not yet decoded. Key, ETag, prefixes, token and
/// marker may hold XML entities if the page says so; all other texts hold none.
class RawListPage {
 public:
  explicit RawListPage(Dialect dialect) : dialect_(dialect) { objects_.reserve(1000); }

  /// DataLoss when key or size is missing, or size or date cannot be read.
  absl::Status AddEntry(const RawListEntry& entry);
  /// DataLoss when empty.
  absl::Status AddPrefix(absl::string_view prefix);

  absl::string_view encoding_type, truncated, key_count, next_token, next_marker;
  bool may_hold_entities = false;

  /// Checks and decodes the page. All texts lie in `storage`, which becomes the page's.
  absl::StatusOr<ListPage> Finish(std::unique_ptr<char[]> storage) &&;

 private:
  bool Archived(const RawListEntry& entry) const;
  absl::StatusOr<absl::string_view> Decode(absl::string_view text, bool form_encoded) const;
  absl::Status DecodeKeys();
  absl::Status CheckCount() const;

  const Dialect dialect_;
  std::vector<ListedObject> objects_;
  std::vector<absl::string_view> prefixes_;
};

/// Reads a document in the plain form that the services write; false, with `page` unspecified, for any other.
/// `document` is followed by a NUL. An error is a value that cannot be read.
absl::StatusOr<bool> ScanListPage(absl::string_view document, RawListPage& page);

/// Reads any XML document. Appends its texts to `arena`, which has room for 2 * document.size() bytes.
absl::Status ReadListPageWithExpat(absl::string_view document, char* arena, RawListPage& page);

}  // namespace bucketvol
