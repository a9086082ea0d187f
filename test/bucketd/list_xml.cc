#include "test/bucketd/list_xml.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

constexpr absl::string_view kOwner = "<Owner><ID>bucketd</ID><DisplayName>bucketd</DisplayName></Owner>";
constexpr absl::string_view kTokenMark = "t1";  // Tokens of another making are told apart.
constexpr size_t kUsualEntryBytes = 360;

absl::string_view TypeName(ObjectType type) {
  switch (type) {
    case ObjectType::kNormal:
      return "Normal";
    case ObjectType::kMultipart:
      return "Multipart";
    case ObjectType::kAppendable:
      return "Appendable";
    case ObjectType::kSymlink:
      return "Symlink";
  }
  return "";
}

// Collects one page. Everything per key is appended to one string.
class PageWriter final : public EntryVisitor {
 public:
  PageWriter(const ListQuery& query, absl::string_view after) : query_(query), after_(after) {
    entries_.reserve(std::min<size_t>(query.max_keys, 1000) * kUsualEntryBytes);
  }

  Step Visit(const ListEntry& entry) override {
    if (!absl::StartsWith(entry.key, query_.prefix)) return Step::kStop;
    if (!query_.delimiter.empty()) {
      const size_t end = entry.key.find(query_.delimiter, query_.prefix.size());
      if (end != absl::string_view::npos)
        return VisitGroup(entry.key.substr(0, end + query_.delimiter.size()));
    }
    if (!TakeRoom(entry.key)) return Step::kStop;
    AppendEntry(entry);
    return Step::kNext;
  }
  absl::string_view skip_prefix() const override { return group_; }

  std::string& entries() { return entries_; }
  const std::string& groups() const { return groups_; }
  size_t count() const { return count_; }
  bool truncated() const { return truncated_; }
  const std::string& last() const { return last_; }
  size_t second_entry() const { return second_entry_; }
  size_t third_entry() const { return third_entry_; }

  void AppendText(std::string& out, absl::string_view text) const {
    if (query_.url_encoding) return AppendPercentEncoded(out, text, "/");
    AppendXmlEscaped(out, text);
  }

 private:
  Step VisitGroup(absl::string_view group) {
    group_ = std::string(group);
    // The page before ended with it, or the client starts inside it: services leave the whole group out then.
    if (absl::StartsWith(after_, group)) return Step::kSkipPrefix;
    if (!TakeRoom(group)) return Step::kStop;
    groups_ += "<CommonPrefixes><Prefix>";
    AppendText(groups_, group);
    groups_ += "</Prefix></CommonPrefixes>";
    return Step::kSkipPrefix;
  }

  bool TakeRoom(absl::string_view last) {
    if (count_ == query_.max_keys) {
      truncated_ = query_.max_keys > 0;
      return false;
    }
    ++count_;
    last_.assign(last.data(), last.size());
    return true;
  }

  void AppendEntry(const ListEntry& entry) {
    if (entry_number_ == 1) second_entry_ = entries_.size();
    if (entry_number_ == 2) third_entry_ = entries_.size();
    ++entry_number_;
    const bool versions = query_.version == ListVersion::kVersions;
    entries_ += versions ? "<Version><Key>" : "<Contents><Key>";
    AppendText(entries_, entry.key);
    entries_ += versions ? "</Key><VersionId>null</VersionId><IsLatest>true</IsLatest>" : "</Key>";
    AppendAttributes(entry);
    if (query_.owner) absl::StrAppend(&entries_, kOwner);
    entries_ += versions ? "</Version>" : "</Contents>";
  }

  void AppendAttributes(const ListEntry& entry) {
    const bool oss = query_.dialect == Dialect::kOss;
    char buffer[256];
    char* out = buffer;
    const auto put = [&out](absl::string_view text) {
      out = static_cast<char*>(mempcpy(out, text.data(), text.size()));
    };
    put("<LastModified>");
    out = WriteIsoTime(entry.modified, out);
    put(oss ? "</LastModified><ETag>\"" : "</LastModified><ETag>&quot;");
    out =
        std::transform(entry.etag.begin(), entry.etag.begin() + std::min<size_t>(entry.etag.size(), 64), out,
                       [oss](char c) { return oss && c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; });
    put(oss ? "\"</ETag><Type>" : "&quot;</ETag>");
    if (oss) {
      put(TypeName(entry.type));
      put("</Type>");
    }
    put("<Size>");
    out = WriteDecimal(entry.size, out);
    put("</Size><StorageClass>");
    entries_.append(buffer, out - buffer);
    const absl::string_view usual = oss ? "Standard" : "STANDARD";
    absl::StrAppend(&entries_, entry.storage_class.empty() ? usual : entry.storage_class, "</StorageClass>");
  }

  const ListQuery& query_;
  const absl::string_view after_;
  std::string entries_;
  std::string groups_;
  std::string group_;
  std::string last_;
  size_t count_ = 0;
  size_t entry_number_ = 0;
  size_t second_entry_ = 0;
  size_t third_entry_ = 0;
  bool truncated_ = false;
};

class HeadWriter {
 public:
  explicit HeadWriter(const PageWriter& page) : page_(page) {}

  // An element whose text encoding-type=url encodes.
  void Encoded(absl::string_view name, absl::string_view text) {
    absl::StrAppend(&out_, "<", name, ">");
    page_.AppendText(out_, text);
    absl::StrAppend(&out_, "</", name, ">");
  }
  void Plain(absl::string_view name, absl::string_view text) {
    absl::StrAppend(&out_, "<", name, ">", text, "</", name, ">");
  }
  void Raw(absl::string_view text) { absl::StrAppend(&out_, text); }
  std::string Take() { return std::move(out_); }

 private:
  const PageWriter& page_;
  std::string out_;
};

absl::string_view RootName(const ListQuery& query) {
  return query.version == ListVersion::kVersions ? "ListVersionsResult" : "ListBucketResult";
}

void WritePosition(HeadWriter& head, const ListQuery& query, const PageWriter& page, bool truncated,
                   absl::string_view next) {
  switch (query.version) {
    case ListVersion::kV1:
      head.Encoded("Marker", query.marker);
      // S3 tells the next marker only when there is a delimiter; the client takes the last key otherwise.
      if (truncated && (query.dialect == Dialect::kOss || !query.delimiter.empty()))
        head.Encoded("NextMarker", next);
      break;
    case ListVersion::kV2:
      if (!query.marker.empty()) head.Encoded("StartAfter", query.marker);
      if (!query.continuation_token.empty()) head.Encoded("ContinuationToken", query.continuation_token);
      if (truncated) head.Plain("NextContinuationToken", MakeContinuationToken(next));
      head.Plain("KeyCount", absl::StrCat(page.count()));
      break;
    case ListVersion::kVersions:
      head.Encoded("KeyMarker", query.marker);
      head.Raw("<VersionIdMarker></VersionIdMarker>");
      if (truncated) head.Encoded("NextKeyMarker", next);
      if (truncated) head.Plain("NextVersionIdMarker", "null");
      break;
  }
}

std::string WriteHead(const Bucket& bucket, const ListQuery& query, const PageWriter& page, bool truncated,
                      absl::string_view next) {
  HeadWriter head(page);
  head.Raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<");
  head.Raw(RootName(query));
  head.Raw(query.dialect == Dialect::kS3 ? " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" : ">");
  head.Plain("Name", bucket.name());
  head.Encoded("Prefix", query.prefix);
  WritePosition(head, query, page, truncated, next);
  head.Plain("MaxKeys", absl::StrCat(query.max_keys));
  if (!query.delimiter.empty() || query.dialect == Dialect::kOss) head.Encoded("Delimiter", query.delimiter);
  if (query.url_encoding) head.Plain("EncodingType", "url");
  head.Plain("IsTruncated", truncated ? "true" : "false");
  return head.Take();
}

void SwapFirstEntries(std::string& entries, const PageWriter& page) {
  if (page.second_entry() == 0) return;
  const size_t end = page.third_entry() == 0 ? entries.size() : page.third_entry();
  std::rotate(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(page.second_entry()),
              entries.begin() + static_cast<ptrdiff_t>(end));
}

void BreakXml(std::string& entries) {
  const size_t tag = entries.find("</Key>", entries.size() / 2);
  entries.replace(tag == std::string::npos ? entries.size() : tag, tag == std::string::npos ? 0 : 6, "&<");
}

struct Start {
  std::string after;  // What the page before ended with.
  std::string from;   // Where the scan begins.
  Bound bound = Bound::kAt;
};

Start StartOf(const ListQuery& query, ListDamage damage) {
  Start start;
  if (damage == ListDamage::kRepeatPage) return {"", query.prefix, Bound::kAt};
  if (query.continuation_token.empty() || !ReadContinuationToken(query.continuation_token, start.after)) {
    start.after = query.marker;
  }
  const bool inside = !start.after.empty() && start.after >= query.prefix;
  start.from = inside ? start.after : query.prefix;
  start.bound = inside ? Bound::kAfter : Bound::kAt;
  return start;
}

}  // namespace

std::string MakeContinuationToken(absl::string_view last) {
  return absl::Base64Escape(absl::StrCat(kTokenMark, last));
}

bool ReadContinuationToken(absl::string_view token, std::string& last) {
  std::string text;
  if (!absl::Base64Unescape(token, &text) || !absl::StartsWith(text, kTokenMark)) return false;
  last = text.substr(kTokenMark.size());
  return true;
}

ListDocument WriteListPage(Bucket& bucket, const ListQuery& query, ListDamage damage) {
  const Start start = StartOf(query, damage);
  PageWriter page(query, start.after);
  if (damage != ListDamage::kEmptyTruncated && query.max_keys > 0) bucket.Scan(start.from, start.bound, page);
  const bool truncated = page.truncated() || damage == ListDamage::kEmptyTruncated;
  const std::string& next = damage == ListDamage::kEmptyTruncated ? start.after : page.last();
  ListDocument document;
  document.head = WriteHead(bucket, query, page, truncated, next);
  document.body = std::move(page.entries());
  if (damage == ListDamage::kOutOfOrder) SwapFirstEntries(document.body, page);
  if (damage == ListDamage::kBadXml) BreakXml(document.body);
  document.body += page.groups();
  absl::StrAppend(&document.body, "</", RootName(query), ">");
  if (damage == ListDamage::kCutXml) document.body.resize(document.body.size() * 6 / 10);
  return document;
}

}  // namespace bucketvol::bucketd
