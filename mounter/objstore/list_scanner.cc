// The fast reader of listings. It knows exactly the form that the services write (elements without
// attributes, no comments, no CDATA, ASCII text) and gives up on the first byte that does not belong to it;
// expat then reads the document anew.

#include <array>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "mounter/base/status_macros.h"
#include "mounter/objstore/raw_list_page.h"
#include "mounter/objstore/xml_text.h"

namespace bucketvol {
namespace {

// Bytes at which plain text ends or needs a closer look: markup, `]` (of "]]>"), what XML forbids, and all
// beyond ASCII. The NUL after the document is one of them, so no loop over text checks for the end.
constexpr std::array<bool, 256> kStopsText = [] {
  std::array<bool, 256> stops = {};
  for (size_t c = 0; c < 256; ++c) stops[c] = c < 0x20 || c >= 0x80;
  stops['\t'] = stops['\n'] = false;
  stops['<'] = stops['&'] = stops[']'] = true;
  return stops;
}();

// Owner and RestoreStatus nest once.
constexpr size_t kDeepestSkipped = 8;

// An empty element of these names says something; expat reads it.
constexpr std::array<absl::string_view, 13> kOurs = {
    "Contents",   "CommonPrefixes", "IsTruncated", "KeyCount", "EncodingType", "NextContinuationToken",
    "Key",        "LastModified",   "ETag",        "Size",     "StorageClass", "Type",
    "RestoreInfo"};

constexpr bool IsNameByte(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

class Scanner {
 public:
  Scanner(absl::string_view document, RawListPage& page)
      : at_(document.data()), end_(document.data() + document.size()), page_(page) {}

  absl::StatusOr<bool> Run() {
    page_.may_hold_entities = true;
    if (!Prologue()) return false;
    while (!Take("</ListBucketResult>")) {
      if (!RootChild()) return Outcome();
      SkipSpace();
    }
    SkipSpace();
    return at_ == end_;
  }

 private:
  absl::StatusOr<bool> Outcome() const {
    if (!error_.ok()) return error_;
    return false;
  }

  // Whether the literal comes next. memcmp of a constant size is a compare of words.
  template <size_t kSize>
  bool Take(const char (&literal)[kSize]) {
    constexpr size_t kLength = kSize - 1;
    if (static_cast<size_t>(end_ - at_) < kLength || std::memcmp(at_, literal, kLength) != 0) return false;
    at_ += kLength;
    return true;
  }

  bool TakeView(absl::string_view text) {
    if (!absl::StartsWith(absl::string_view(at_, static_cast<size_t>(end_ - at_)), text)) return false;
    at_ += text.size();
    return true;
  }

  void SkipSpace() {
    while (*at_ == '\n' || *at_ == ' ' || *at_ == '\t') ++at_;
  }

  bool Prologue() {
    if (Take("<?xml ") && !Take("version=\"1.0\" encoding=\"UTF-8\"?>") &&
        !Take("version=\"1.0\" encoding=\"UTF-8\" ?>")) {
      return false;
    }
    SkipSpace();
    if (!Take("<ListBucketResult")) return false;
    if (Take(" xmlns=\"")) {
      while (IsNameByte(*at_) || (*at_ >= '-' && *at_ <= ':'))
        ++at_;  // '-' to ':' are "-./", digits and ":".
      if (!Take("\"")) return false;
    }
    if (!Take(">")) return false;
    SkipSpace();
    return true;
  }

  enum class Entities { kAllowed, kUnexpected };

  // Reads text up to the next '<'.
  bool Text(Entities entities, absl::string_view& text) {
    const char* const begin = at_;
    while (true) {
      while (!kStopsText[static_cast<unsigned char>(*at_)]) ++at_;
      if (*at_ != '&' || entities == Entities::kUnexpected) break;
      const size_t length = EntityLength({at_, static_cast<size_t>(end_ - at_)});
      if (length == 0) return false;
      at_ += length;
    }
    text = {begin, static_cast<size_t>(at_ - begin)};
    return *at_ == '<';
  }

  // Reads what follows the opening tag of a field, up to and with its closing tag.
  template <size_t kSize>
  bool Field(const char (&closing)[kSize], Entities entities, absl::string_view& text) {
    return Text(entities, text) && Take(closing);
  }

  bool RootChild() {
    using enum Entities;
    if (Take("<Contents>")) return Contents();
    if (Take("<CommonPrefixes>")) return CommonPrefixes();
    if (Take("<IsTruncated>")) return Field("</IsTruncated>", kUnexpected, page_.truncated);
    if (Take("<KeyCount>")) return Field("</KeyCount>", kUnexpected, page_.key_count);
    if (Take("<EncodingType>")) return Field("</EncodingType>", kUnexpected, page_.encoding_type);
    if (Take("<NextMarker/>")) return (page_.next_marker = {}, true);
    if (Take("<NextMarker>")) return Field("</NextMarker>", kAllowed, page_.next_marker);
    if (Take("<NextContinuationToken>")) return Field("</NextContinuationToken>", kAllowed, page_.next_token);
    return SkipElement();
  }

  bool Contents() {
    RawListEntry entry;
    SkipSpace();
    while (!Take("</Contents>")) {
      if (!EntryField(entry)) return false;
      SkipSpace();
    }
    error_ = page_.AddEntry(entry);
    return error_.ok();
  }

  bool EntryField(RawListEntry& entry) {
    using enum Entities;
    if (Take("<Key>")) return Field("</Key>", kAllowed, entry.key);
    if (Take("<LastModified>")) return Field("</LastModified>", kUnexpected, entry.modified);
    if (Take("<ETag>")) return Field("</ETag>", kAllowed, entry.etag);
    if (Take("<Size>")) return Field("</Size>", kUnexpected, entry.size);
    if (Take("<StorageClass>")) return Field("</StorageClass>", kUnexpected, entry.storage_class);
    if (Take("<Type>")) return Field("</Type>", kUnexpected, entry.type);
    if (Take("<RestoreInfo>")) return Field("</RestoreInfo>", kUnexpected, entry.restore);
    return SkipElement();
  }

  bool CommonPrefixes() {
    absl::string_view prefix;
    SkipSpace();
    while (!Take("</CommonPrefixes>")) {
      if (!Take("<Prefix>") || !Field("</Prefix>", Entities::kAllowed, prefix)) return false;
      SkipSpace();
    }
    error_ = page_.AddPrefix(prefix);
    return error_.ok();
  }

  bool Name(absl::string_view& name) {
    const char* const begin = at_;
    while (IsNameByte(*at_)) ++at_;
    name = {begin, static_cast<size_t>(at_ - begin)};
    return !name.empty();
  }

  using OpenElements = absl::InlinedVector<absl::string_view, 4>;

  // Passes over an element that is not for us, with all it holds.
  bool SkipElement() {
    OpenElements open;
    absl::string_view text;
    do {
      if (!Tag(open)) return false;
      if (!open.empty() && !Text(Entities::kAllowed, text)) return false;
    } while (!open.empty());
    return true;
  }

  bool Tag(OpenElements& open) {
    if (Take("</")) {
      if (open.empty() || !TakeView(open.back()) || !Take(">")) return false;
      open.pop_back();
      return true;
    }
    absl::string_view name;
    if (!Take("<") || !Name(name) || open.size() == kDeepestSkipped) return false;
    if (Take("/>")) return !open.empty() || !absl::c_linear_search(kOurs, name);
    open.push_back(name);
    return Take(">");
  }

  const char* at_;
  const char* const end_;
  RawListPage& page_;
  absl::Status error_;  // Of a value; otherwise giving up is no error.
};

}  // namespace

absl::StatusOr<bool> ScanListPage(absl::string_view document, RawListPage& page) {
  return Scanner(document, page).Run();
}

}  // namespace bucketvol
