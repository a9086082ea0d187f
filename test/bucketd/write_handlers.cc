#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "test/bucketd/call.h"
#include "test/bucketd/copy_source.h"
#include "test/bucketd/object_headers.h"
#include "test/bucketd/text.h"
#include "test/bucketd/writable_bucket.h"
#include "test/bucketd/xml.h"

namespace bucketvol::bucketd {
namespace {

constexpr size_t kMaxBatch = 1000;

void AddWrittenHeaders(Reply& reply, const ApiRequest& request, const ObjectMeta& meta) {
  reply.Add("ETag", QuotedEtag(meta.etag, request.dialect));
  if (request.dialect == Dialect::kOss && meta.crc64.has_value()) {
    reply.Add("x-oss-hash-crc64ecma", absl::StrCat(*meta.crc64));
  }
}

void AddChecksumHeaders(Reply& reply, const Call& call) {
  for (const auto& [name, value] : call.body.checksums()) AddServiceHeader(reply, call.request, name, value);
}

Reply NoContent() {
  Reply reply;
  reply.status = 204;
  reply.head_only = true;
  return reply;
}

// The bytes so far of an object that may be appended to, in a new file; an absent object is empty.
struct AppendBase {
  ObjectMeta meta;
  std::optional<StagedFile> file;
};

Outcome<AppendBase> OpenForAppend(Call& call, Bucket& bucket, uint64_t position) {
  AppendBase base;
  Outcome<OpenObject> old = bucket.Open(call.request.key());
  if (!old.ok() && old.error().kind != ErrorKind::kNoSuchKey) return old.error();
  if (old.ok() && old->meta.type != ObjectType::kAppendable) return ErrorKind::kNotAppendable;
  const uint64_t length = old.ok() ? old->meta.size : 0;
  if (position != length) {
    return ServiceError{ErrorKind::kPositionMismatch, "", {{"NextAppendPosition", absl::StrCat(length)}}};
  }
  if (!old.ok()) {
    base.meta = MetaFromHeaders(call.request);
    return base;
  }
  Outcome<StagedFile> copy = CopyBytes(*bucket.writable(), *old->body, 0, length);
  if (!copy.ok()) return copy.error();
  base.meta = std::move(old->meta);
  base.file.emplace(*std::move(copy));
  return base;
}

std::string DeletedElement(absl::string_view key, bool url) {
  std::string xml = "<Deleted><Key>";
  if (url) {
    AppendPercentEncoded(xml, key, "/");
  } else {
    AppendXmlEscaped(xml, key);
  }
  return absl::StrCat(xml, "</Key></Deleted>");
}

bool HasIntegrityHeader(const ApiRequest& request) {
  if (request.http->Find("content-md5").has_value()) return true;
  if (request.dialect == Dialect::kOss) return false;
  for (const HttpHeader& header : request.http->headers) {
    if (absl::StartsWithIgnoreCase(header.name, "x-amz-checksum-")) return true;
  }
  return request.http->Find("x-amz-trailer").has_value();
}

}  // namespace

Outcome<WritableBucket*> FindWritable(const Call& call, std::shared_ptr<Bucket>& holder) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  holder = *bucket;
  if (holder->writable() != nullptr) return holder->writable();
  return ServiceError{ErrorKind::kAccessDenied, "A synthetic bucket is read-only.", {}};
}

Outcome<Reply> PutObject(Call& call) {
  std::shared_ptr<Bucket> holder;
  Outcome<WritableBucket*> bucket = FindWritable(call, holder);
  if (!bucket.ok()) return bucket.error();
  ObjectMeta meta = MetaFromHeaders(call.request);
  meta.etag = HexLower(call.body.md5());
  meta.crc64 = call.body.file().crc64();
  for (const auto& checksum : call.body.checksums()) meta.headers.push_back(checksum);
  Outcome<ObjectMeta> stored = (*bucket)->Commit(call.request.key(), std::move(call.body.file()),
                                                 std::move(meta), WriteConditionOf(call.request));
  if (!stored.ok()) return stored.error();
  Reply reply;
  AddWrittenHeaders(reply, call.request, *stored);
  AddChecksumHeaders(reply, call);
  if (call.request.dialect == Dialect::kOss) reply.Add("Content-MD5", absl::Base64Escape(call.body.md5()));
  return reply;
}

Outcome<Reply> DeleteObject(Call& call) {
  std::shared_ptr<Bucket> holder;
  Outcome<WritableBucket*> bucket = FindWritable(call, holder);
  if (!bucket.ok()) return bucket.error();
  Outcome<Nothing> deleted = (*bucket)->Delete(call.request.key());
  return deleted.ok() ? Outcome<Reply>(NoContent()) : Outcome<Reply>(deleted.error());
}

Outcome<Reply> DeleteBatch(Call& call) {
  std::shared_ptr<Bucket> holder;
  Outcome<WritableBucket*> bucket = FindWritable(call, holder);
  if (!bucket.ok()) return bucket.error();
  if (!HasIntegrityHeader(call.request)) {
    return ServiceError{
        ErrorKind::kInvalidRequest, "Missing required header for this request: Content-MD5", {}};
  }
  const std::optional<XmlNode> root = ParseXml(call.body.text());
  if (!root.has_value() || root->name != "Delete") return ErrorKind::kMalformedXml;
  const bool quiet = root->ChildText("Quiet") == "true";
  const bool url = call.request.Param("encoding-type") == "url";
  std::string xml = call.request.dialect == Dialect::kS3
                        ? "<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                        : "<DeleteResult>";
  if (url) xml += "<EncodingType>url</EncodingType>";
  size_t count = 0;
  for (const XmlNode& node : root->children) {
    if (node.name != "Object") continue;
    if (++count > kMaxBatch) return ErrorKind::kMalformedXml;
    const std::string key = node.ChildText("Key");
    Outcome<Nothing> deleted = (*bucket)->Delete(key);
    if (!deleted.ok()) return deleted.error();
    if (!quiet) xml += DeletedElement(key, url);
  }
  if (count == 0) return ErrorKind::kMalformedXml;
  return XmlReply(absl::StrCat(xml, "</DeleteResult>"));
}

Outcome<Reply> CopyObject(Call& call) {
  std::shared_ptr<Bucket> holder;
  Outcome<WritableBucket*> bucket = FindWritable(call, holder);
  if (!bucket.ok()) return bucket.error();
  Outcome<CopySource> source = OpenCopySource(call);
  if (!source.ok()) return source.error();
  const bool replace = absl::EqualsIgnoreCase(call.request.ServiceHeader("metadata-directive"), "REPLACE");
  const bool onto_itself = source->bucket == call.request.bucket() && source->key == call.request.key();
  if (onto_itself && !replace && call.request.dialect == Dialect::kS3) {
    return ServiceError{
        ErrorKind::kInvalidRequest,
        "This copy request is illegal because it is trying to copy an object to itself without changing "
        "the object's metadata.",
        {}};
  }
  Outcome<StagedFile> copy = CopyBytes(**bucket, *source->object.body, 0, source->object.meta.size);
  if (!copy.ok()) return copy.error();
  ObjectMeta meta = MetaFromHeaders(call.request);
  if (!replace) meta.headers = source->object.meta.headers;
  meta.etag = HexLower(copy->FinishMd5());
  meta.crc64 = copy->crc64();
  Outcome<ObjectMeta> stored = (*bucket)->Commit(call.request.key(), *std::move(copy), std::move(meta),
                                                 WriteConditionOf(call.request));
  if (!stored.ok()) return stored.error();
  Reply reply = XmlReply(absl::StrCat("<CopyObjectResult><LastModified>", IsoTime(stored->modified),
                                      "</LastModified><ETag>", QuotedEtag(stored->etag, call.request.dialect),
                                      "</ETag></CopyObjectResult>"));
  AddWrittenHeaders(reply, call.request, *stored);
  return reply;
}

Outcome<Reply> AppendObject(Call& call) {
  std::shared_ptr<Bucket> holder;
  Outcome<WritableBucket*> bucket = FindWritable(call, holder);
  if (!bucket.ok()) return bucket.error();
  uint64_t position = 0;
  if (!absl::SimpleAtoi(call.request.Param("position"), &position)) return ErrorKind::kInvalidArgument;
  Outcome<AppendBase> base = OpenForAppend(call, *holder, position);
  if (!base.ok()) return base.error();
  const std::string old_etag = base->meta.etag;
  StagedFile& added = call.body.file();
  base->meta.crc64 = CombineCrc64(base->meta.crc64.value_or(0), added.crc64(), added.size());
  base->meta.type = ObjectType::kAppendable;
  base->meta.etag = HexLower(DigestOf(DigestKind::kMd5, absl::StrCat(old_etag, call.body.md5())));
  if (base->file.has_value()) {
    if (const absl::Status status = base->file->AppendFile(added.fd(), 0, added.size()); !status.ok()) {
      return ServiceError{ErrorKind::kInternal, std::string(status.message()), {}};
    }
  }
  WriteCondition condition;
  condition.only_if_absent = old_etag.empty();
  condition.if_etag = old_etag;
  Outcome<ObjectMeta> stored = (*bucket)->Commit(
      call.request.key(), base->file.has_value() ? *std::move(base->file) : std::move(added),
      std::move(base->meta), condition);
  if (!stored.ok()) return ServiceError{ErrorKind::kPositionMismatch, "", {}};
  Reply reply;
  AddWrittenHeaders(reply, call.request, *stored);
  reply.Add("x-oss-next-append-position", absl::StrCat(stored->size));
  return reply;
}

Outcome<Reply> PutSymlink(Call& call) {
  std::shared_ptr<Bucket> holder;
  Outcome<WritableBucket*> bucket = FindWritable(call, holder);
  if (!bucket.ok()) return bucket.error();
  ObjectMeta meta = MetaFromHeaders(call.request);
  meta.type = ObjectType::kSymlink;
  meta.symlink_target = PercentDecode(call.request.ServiceHeader("symlink-target"));
  if (meta.symlink_target.empty())
    return ServiceError{ErrorKind::kInvalidArgument, "x-oss-symlink-target is missing.", {}};
  meta.modified = call.now;
  meta.etag = HexLower(DigestOf(DigestKind::kMd5, meta.symlink_target));
  Outcome<ObjectMeta> stored =
      (*bucket)->PutSymlink(call.request.key(), std::move(meta), WriteConditionOf(call.request));
  if (!stored.ok()) return stored.error();
  Reply reply;
  AddWrittenHeaders(reply, call.request, *stored);
  return reply;
}

Outcome<Reply> GetSymlink(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  Outcome<OpenObject> object = (*bucket)->Open(call.request.key());
  if (!object.ok()) return object.error();
  if (object->meta.type != ObjectType::kSymlink) return ErrorKind::kNotSymlink;
  Reply reply;
  AddWrittenHeaders(reply, call.request, object->meta);
  reply.Add("Last-Modified", HttpTime(object->meta.modified));
  reply.Add("x-oss-symlink-target", PercentEncode(object->meta.symlink_target, "/"));
  return reply;
}

}  // namespace bucketvol::bucketd
