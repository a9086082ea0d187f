#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "test/bucketd/call.h"
#include "test/bucketd/conditions.h"
#include "test/bucketd/range.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

constexpr size_t kMaxPage = 1000;

// What response-NAME of a query replaces.
constexpr absl::string_view kReplaceable[] = {"content-type",  "content-language",    "expires",
                                              "cache-control", "content-disposition", "content-encoding"};

// How much of an object an answer speaks of.
enum class Extent { kWhole, kPart };

Outcome<size_t> MaxKeys(const ApiRequest& request) {
  if (!request.Has("max-keys")) return request.dialect == Dialect::kOss ? size_t{100} : kMaxPage;
  int64_t value = 0;
  if (!absl::SimpleAtoi(request.Param("max-keys"), &value) || value < 0) {
    return ServiceError{ErrorKind::kInvalidArgument, "max-keys is not a number between 0 and 1000.", {}};
  }
  if (value > static_cast<int64_t>(kMaxPage) && request.dialect == Dialect::kOss) {
    return ServiceError{ErrorKind::kInvalidArgument, "max-keys is not a number between 0 and 1000.", {}};
  }
  return std::min(static_cast<size_t>(value), kMaxPage);
}

ListVersion VersionOf(Operation operation) {
  if (operation == Operation::kListVersions) return ListVersion::kVersions;
  return operation == Operation::kListObjects ? ListVersion::kV1 : ListVersion::kV2;
}

absl::string_view MarkerParam(ListVersion version) {
  switch (version) {
    case ListVersion::kV1:
      return "marker";
    case ListVersion::kV2:
      return "start-after";
    case ListVersion::kVersions:
      return "key-marker";
  }
  return "";
}

Outcome<ListQuery> ReadListQuery(const ApiRequest& request) {
  Outcome<size_t> max_keys = MaxKeys(request);
  if (!max_keys.ok()) return max_keys.error();
  ListQuery query;
  query.dialect = request.dialect;
  query.version = VersionOf(request.operation);
  query.prefix = std::string(request.Param("prefix"));
  query.delimiter = std::string(request.Param("delimiter"));
  query.marker = std::string(request.Param(MarkerParam(query.version)));
  query.continuation_token = std::string(request.Param("continuation-token"));
  query.max_keys = *max_keys;
  query.url_encoding = request.Param("encoding-type") == "url";
  if (!query.url_encoding && !request.Param("encoding-type").empty()) {
    return ServiceError{ErrorKind::kInvalidArgument, "Invalid Encoding Method specified in Request", {}};
  }
  query.owner = query.version != ListVersion::kV2 || request.Param("fetch-owner") == "true";
  std::string last;
  if (!query.continuation_token.empty() && !ReadContinuationToken(query.continuation_token, last)) {
    return ServiceError{ErrorKind::kInvalidArgument, "The continuation token provided is incorrect.", {}};
  }
  return query;
}

RangeRule RuleOf(const ApiRequest& request) {
  if (request.dialect == Dialect::kS3) return RangeRule::kS3;
  const bool standard = request.ServiceHeader("range-behavior") == "standard";
  return standard ? RangeRule::kOssStandard : RangeRule::kOssPlain;
}

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

void AddVersionHeaders(Reply& reply, const ApiRequest& request, const ObjectMeta& meta) {
  reply.Add("ETag", QuotedEtag(meta.etag, request.dialect));
  reply.Add("Last-Modified", HttpTime(meta.modified));
}

// S3 sends checksums when x-amz-checksum-mode asks for them, and with whole objects only: clients compare
// what they got.
void AddChecksumHeaders(Reply& reply, const ApiRequest& request, const ObjectMeta& meta, Extent extent) {
  if (request.dialect == Dialect::kOss || extent == Extent::kPart) return;
  if (request.ServiceHeader("checksum-mode") != "ENABLED") return;
  bool any = false;
  for (const auto& [name, value] : meta.headers) {
    if (!absl::StartsWith(name, "checksum-")) continue;
    AddServiceHeader(reply, request, name, value);
    any = true;
  }
  if (any) reply.Add("x-amz-checksum-type", "FULL_OBJECT");
}

// Empty: none was stored.
absl::string_view StoredHeader(const ObjectMeta& meta, absl::string_view name) {
  for (const auto& [stored, value] : meta.headers) {
    if (stored == name) return value;
  }
  return {};
}

void AddStoredHeaders(Reply& reply, const ApiRequest& request, const ObjectMeta& meta) {
  for (const absl::string_view name : kReplaceable) {
    absl::string_view value;
    if (!request.params.empty()) value = request.Param(absl::StrCat("response-", name));
    if (value.empty()) value = StoredHeader(meta, name);
    if (value.empty() && name == "content-type") {
      value = request.dialect == Dialect::kOss ? "application/octet-stream" : "binary/octet-stream";
    }
    if (!value.empty()) reply.Add(name, value);
  }
  for (const auto& [name, value] : meta.headers) {
    if (absl::StartsWith(name, "meta-")) AddServiceHeader(reply, request, name, value);
  }
}

void AddObjectHeaders(Reply& reply, const ApiRequest& request, const ObjectMeta& meta, Extent extent) {
  AddVersionHeaders(reply, request, meta);
  reply.Add("Accept-Ranges", "bytes");
  AddStoredHeaders(reply, request, meta);
  AddChecksumHeaders(reply, request, meta, extent);
  if (request.dialect == Dialect::kS3) {
    if (!meta.storage_class.empty()) reply.Add("x-amz-storage-class", meta.storage_class);
    return;
  }
  reply.Add("x-oss-object-type", TypeName(meta.type));
  reply.Add("x-oss-storage-class",
            meta.storage_class.empty() ? "Standard" : absl::string_view(meta.storage_class));
  if (meta.crc64.has_value()) reply.Add("x-oss-hash-crc64ecma", absl::StrCat(*meta.crc64));
  if (meta.type == ObjectType::kAppendable) reply.Add("x-oss-next-append-position", absl::StrCat(meta.size));
}

// Follows a symlink, once: OSS does not follow chains. Size, ETag and CRC are those of the target, the rest
// is the link's.
Outcome<OpenObject> OpenTarget(Bucket& bucket, absl::string_view key) {
  Outcome<OpenObject> object = bucket.Open(key);
  if (!object.ok() || object->meta.type != ObjectType::kSymlink) return object;
  Outcome<OpenObject> target = bucket.Open(object->meta.symlink_target);
  if (!target.ok()) return ErrorKind::kNoSuchSymlinkTarget;
  if (target->meta.type == ObjectType::kSymlink) return ErrorKind::kInvalidTargetType;
  target->meta.type = ObjectType::kSymlink;
  target->meta.headers = std::move(object->meta.headers);
  target->meta.storage_class = std::move(object->meta.storage_class);
  target->meta.modified = std::max(target->meta.modified, object->meta.modified);
  return target;
}

Outcome<OpenObject> OpenForRead(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  Outcome<OpenObject> object = OpenTarget(**bucket, call.request.key());
  if (!object.ok() && object.error().kind == ErrorKind::kNoSuchKey) {
    object.error().details.emplace_back("Key", call.request.key());
  }
  return object;
}

bool IsArchived(absl::string_view storage_class) {
  return absl::EqualsIgnoreCase(storage_class, "Archive") ||
         absl::EqualsIgnoreCase(storage_class, "ColdArchive") ||
         absl::EqualsIgnoreCase(storage_class, "DeepColdArchive") ||
         absl::EqualsIgnoreCase(storage_class, "GLACIER") ||
         absl::EqualsIgnoreCase(storage_class, "DEEP_ARCHIVE");
}

Reply NotModified(const ApiRequest& request, const ObjectMeta& meta) {
  Reply reply;
  reply.status = 304;
  reply.head_only = true;
  AddVersionHeaders(reply, request, meta);
  return reply;
}

Outcome<Reply> RangedReply(const ApiRequest& request, OpenObject object) {
  const RangeAnswer answer = ResolveRange(request.http->Get("range"), object.meta.size, RuleOf(request));
  Reply reply;
  if (answer.kind == RangeAnswer::Kind::kUnsatisfiable) {
    return ServiceError{ErrorKind::kInvalidRange,
                        "",
                        {{"RangeRequested", std::string(request.http->Get("range"))},
                         {"ActualObjectSize", absl::StrCat(object.meta.size)}}};
  }
  if (answer.kind == RangeAnswer::Kind::kSeveral && request.dialect == Dialect::kOss) {
    return ServiceError{ErrorKind::kInvalidArgument, "Only one range is supported.", {}};
  }
  AddObjectHeaders(reply, request, object.meta,
                   answer.kind == RangeAnswer::Kind::kPart ? Extent::kPart : Extent::kWhole);
  reply.source = std::move(object.body);
  reply.source_offset = answer.range.begin;
  reply.source_size = answer.range.size();
  if (answer.kind == RangeAnswer::Kind::kPart) {
    reply.status = 206;
    reply.Add("Content-Range",
              absl::StrCat("bytes ", answer.range.begin, "-", answer.range.end - 1, "/", object.meta.size));
  }
  return reply;
}

Outcome<Reply> ReadObject(Call& call) {
  Outcome<OpenObject> object = OpenForRead(call);
  if (!object.ok()) return object.error();
  const Verdict verdict = CheckReadConditions(*call.request.http, object->meta, call.ignore_if_match);
  if (verdict == Verdict::kNotModified) return NotModified(call.request, object->meta);
  if (verdict == Verdict::kFailed) return ErrorKind::kPreconditionFailed;
  if (IsArchived(object->meta.storage_class) && call.request.http->method != "HEAD")
    return ErrorKind::kArchived;
  return RangedReply(call.request, *std::move(object));
}

}  // namespace

Outcome<Reply> ListObjects(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  Outcome<ListQuery> query = ReadListQuery(call.request);
  if (!query.ok()) return query.error();
  ListDocument document = WriteListPage(**bucket, *query, call.damage);
  Reply reply;
  reply.Add("Content-Type", "application/xml");
  reply.preamble = std::move(document.head);
  reply.body = std::move(document.body);
  return reply;
}

Outcome<Reply> GetObject(Call& call) { return ReadObject(call); }

Outcome<Reply> HeadObject(Call& call) {
  Outcome<Reply> reply = ReadObject(call);
  if (!reply.ok()) return reply;
  reply->content_length = reply->source_size;
  reply->source = nullptr;
  reply->source_size = 0;
  reply->head_only = true;
  return reply;
}

Outcome<Reply> GetObjectMeta(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  Outcome<OpenObject> object = (*bucket)->Open(call.request.key());
  if (!object.ok()) return object.error();
  Reply reply;
  AddVersionHeaders(reply, call.request, object->meta);
  if (object->meta.crc64.has_value()) reply.Add("x-oss-hash-crc64ecma", absl::StrCat(*object->meta.crc64));
  reply.content_length = object->meta.size;
  reply.head_only = true;
  return reply;
}

}  // namespace bucketvol::bucketd
