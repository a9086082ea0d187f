#include "mounter/objstore/raw_list_page.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/objstore/http_fields.h"
#include "mounter/objstore/uri_encoding.h"
#include "mounter/objstore/xml_text.h"

namespace bucketvol {
namespace {

constexpr uint64_t kLargestSize = uint64_t{1} << 63;

absl::Status Unreadable(absl::string_view what, absl::string_view value) {
  return absl::DataLossError(
      absl::StrCat("the listing holds ", what, " that cannot be read: ", Printable(value, 64)));
}

bool ParseSize(absl::string_view text, uint64_t& size) {
  // SimpleAtoi would also take signs and spaces.
  if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text.front()))) return false;
  return absl::SimpleAtoi(text, &size) && size <= kLargestSize;
}

}  // namespace

absl::Status RawListPage::AddEntry(const RawListEntry& entry) {
  ListedObject object;
  if (entry.key.empty()) return absl::DataLossError("the listing holds an entry without key");
  object.key = entry.key;
  object.etag = entry.etag;
  if (!ParseSize(entry.size, object.size)) return Unreadable("a size", entry.size);
  if (!entry.modified.empty()) {
    const std::optional<int64_t> modified = ParseIsoMillis(entry.modified);
    if (!modified) return Unreadable("a date", entry.modified);
    object.modified_ms = *modified;
  }
  if (entry.type == "Symlink") object.kind = ListedObject::Kind::kSymlink;
  object.archived = Archived(entry);
  objects_.push_back(object);
  return absl::OkStatus();
}

absl::Status RawListPage::AddPrefix(absl::string_view prefix) {
  if (prefix.empty()) return absl::DataLossError("the listing holds an empty common prefix");
  prefixes_.push_back(prefix);
  return absl::OkStatus();
}

// GLACIER_IR is read at once, and so is an object whose restoration is done.
bool RawListPage::Archived(const RawListEntry& entry) const {
  const absl::string_view name = entry.storage_class;
  switch (dialect_) {
    case Dialect::kOss:
      if (name != "Archive" && name != "ColdArchive" && name != "DeepColdArchive") return false;
      return !absl::StrContains(entry.restore, "ongoing-request=\"false\"");
    case Dialect::kS3:
      return name == "GLACIER" || name == "DEEP_ARCHIVE";
  }
  return false;
}

absl::StatusOr<absl::string_view> RawListPage::Decode(absl::string_view text, bool form_encoded) const {
  char* const data = const_cast<char*>(text.data());  // It lies in the storage, which this page owns by now.
  size_t size = text.size();
  if (may_hold_entities) size = DecodeEntitiesInPlace(data, size);
  if (form_encoded) {
    const std::optional<size_t> decoded = DecodeFormInPlace(data, size);
    if (!decoded) return Unreadable("an encoded key", {data, size});
    size = *decoded;
  }
  return absl::string_view(data, size);
}

absl::Status RawListPage::DecodeKeys() {
  const bool form_encoded = encoding_type == "url";
  for (ListedObject& object : objects_) {
    ASSIGN_OR_RETURN(object.key, Decode(object.key, form_encoded));
    ASSIGN_OR_RETURN(object.etag, Decode(object.etag, false));
    object.etag = UnquoteEtag(object.etag);
  }
  for (absl::string_view& prefix : prefixes_) {
    ASSIGN_OR_RETURN(prefix, Decode(prefix, form_encoded));
  }
  ASSIGN_OR_RETURN(next_marker, Decode(next_marker, form_encoded));
  // AWS leaves tokens as they are; OSS encodes them like keys.
  ASSIGN_OR_RETURN(next_token, Decode(next_token, form_encoded && dialect_ == Dialect::kOss));
  return absl::OkStatus();
}

// With common prefixes the services do not agree on what KeyCount counts.
absl::Status RawListPage::CheckCount() const {
  if (key_count.empty() || !prefixes_.empty()) return absl::OkStatus();
  uint64_t count = 0;
  if (!ParseSize(key_count, count)) return Unreadable("a KeyCount", key_count);
  if (count == objects_.size()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "the listing holds another number of keys than its KeyCount: ", objects_.size(), ", not ", count));
}

absl::StatusOr<ListPage> RawListPage::Finish(std::unique_ptr<char[]> storage) && {
  if (truncated != "true" && truncated != "false") return Unreadable("an IsTruncated", truncated);
  RETURN_IF_ERROR(CheckCount());
  RETURN_IF_ERROR(DecodeKeys());
  ListPage page;
  page.objects = std::move(objects_);
  page.common_prefixes = std::move(prefixes_);
  page.truncated = truncated == "true";
  if (page.truncated) page.next_token = std::string(next_token.empty() ? next_marker : next_token);
  page.storage = std::move(storage);
  return page;
}

}  // namespace bucketvol
