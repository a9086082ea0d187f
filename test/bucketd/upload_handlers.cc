#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "mounter/base/file.h"
#include "test/bucketd/call.h"
#include "test/bucketd/copy_source.h"
#include "test/bucketd/object_headers.h"
#include "test/bucketd/range.h"
#include "test/bucketd/text.h"
#include "test/bucketd/xml.h"

namespace bucketvol::bucketd {
namespace {

constexpr int kMaxPartNumber = 10'000;
constexpr uint64_t kSmallestOssPart = 100 * 1024;
constexpr uint64_t kSmallestS3Part = 5 * 1024 * 1024;

// Opens the document; says that its keys are encoded when the request asks for it.
std::string Root(const ApiRequest& request, absl::string_view name) {
  const bool s3 = request.dialect == Dialect::kS3;
  return absl::StrCat("<", name, s3 ? " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" : ">",
                      request.Param("encoding-type") == "url" ? "<EncodingType>url</EncodingType>" : "");
}

std::string Element(absl::string_view name, absl::string_view text) {
  std::string xml = absl::StrCat("<", name, ">");
  AppendXmlEscaped(xml, text);
  return absl::StrCat(xml, "</", name, ">");
}

// An element with a key, or a part of one.
std::string EncodedElement(const ApiRequest& request, absl::string_view name, absl::string_view key) {
  return Element(name, request.Param("encoding-type") == "url" ? PercentEncode(key, "/") : std::string(key));
}

std::string KeyElement(const ApiRequest& request, absl::string_view key) {
  return EncodedElement(request, "Key", key);
}

Outcome<int> PartNumber(const ApiRequest& request) {
  int number = 0;
  if (absl::SimpleAtoi(request.Param("partNumber"), &number) && number >= 1 && number <= kMaxPartNumber)
    return number;
  return ServiceError{
      ErrorKind::kInvalidArgument, "Part number must be an integer between 1 and 10000, inclusive.", {}};
}

Outcome<Nothing> AddPart(Call& call, int number, UploadPart part) {
  part.file->Seal();
  part.modified = call.now;
  return call.uploads.AddPart(call.request.bucket(), call.request.key(), call.request.Param("uploadId"),
                              number, std::move(part));
}

// One line of the list in a Complete request.
struct ChosenPart {
  int number = 0;
  std::string etag;
};

Outcome<std::vector<ChosenPart>> ReadChosenParts(const Call& call, const Upload& upload) {
  std::vector<ChosenPart> chosen;
  if (absl::EqualsIgnoreCase(call.request.http->Get("x-oss-complete-all"), "yes")) {
    for (const auto& [number, part] : upload.parts) chosen.push_back({number, HexLower(part.md5)});
    return chosen;
  }
  const std::optional<XmlNode> root = ParseXml(call.body.text());
  if (!root.has_value()) return ErrorKind::kMalformedXml;
  for (const XmlNode& node : root->children) {
    if (node.name != "Part") continue;
    ChosenPart part;
    if (!absl::SimpleAtoi(node.ChildText("PartNumber"), &part.number)) return ErrorKind::kMalformedXml;
    part.etag = node.ChildText("ETag");
    absl::string_view bare = part.etag;
    absl::ConsumePrefix(&bare, "\"");
    absl::ConsumeSuffix(&bare, "\"");
    part.etag = std::string(bare);
    if (!chosen.empty() && chosen.back().number >= part.number) return ErrorKind::kInvalidPartOrder;
    chosen.push_back(std::move(part));
  }
  if (chosen.empty()) return ErrorKind::kMalformedXml;
  return chosen;
}

std::optional<ErrorKind> CheckParts(const Upload& upload, const std::vector<ChosenPart>& chosen,
                                    Dialect dialect) {
  const uint64_t smallest = dialect == Dialect::kOss ? kSmallestOssPart : kSmallestS3Part;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto part = upload.parts.find(chosen[i].number);
    if (part == upload.parts.end()) return ErrorKind::kInvalidPart;
    if (!absl::EqualsIgnoreCase(HexLower(part->second.md5), chosen[i].etag)) return ErrorKind::kInvalidPart;
    if (i + 1 < chosen.size() && part->second.size < smallest) return ErrorKind::kEntityTooSmall;
  }
  return std::nullopt;
}

absl::Status AppendPart(StagedFile& whole, const UploadPart& part) {
  absl::StatusOr<UniqueFd> fd = OpenFile(part.file->path(), O_RDONLY);
  if (!fd.ok()) return fd.status();
  return whole.AppendFile(fd->get(), 0, part.size);
}

Outcome<ObjectMeta> JoinParts(Call& call, const Upload& upload, const std::vector<ChosenPart>& chosen) {
  std::shared_ptr<Bucket> holder;
  Outcome<WritableBucket*> bucket = FindWritable(call, holder);
  if (!bucket.ok()) return bucket.error();
  absl::StatusOr<StagedFile> whole = (*bucket)->Stage();
  if (!whole.ok()) return ServiceError{ErrorKind::kInternal, std::string(whole.status().message()), {}};
  ObjectMeta meta = upload.meta;
  std::string md5s;
  uint64_t crc = 0;
  for (const ChosenPart& choice : chosen) {
    const UploadPart& part = upload.parts.at(choice.number);
    if (const absl::Status status = AppendPart(*whole, part); !status.ok()) {
      return ServiceError{ErrorKind::kInternal, std::string(status.message()), {}};
    }
    crc = CombineCrc64(crc, part.crc64, part.size);
    md5s += part.md5;
  }
  meta.etag = absl::StrCat(HexLower(DigestOf(DigestKind::kMd5, md5s)), "-", chosen.size());
  meta.crc64 = crc;
  meta.type = ObjectType::kMultipart;
  return (*bucket)->Commit(call.request.key(), *std::move(whole), std::move(meta),
                           WriteConditionOf(call.request));
}

uint64_t Limit(const ApiRequest& request, absl::string_view param) {
  uint64_t limit = 1000;
  if (!absl::SimpleAtoi(request.Param(param), &limit)) return 1000;
  return std::min<uint64_t>(limit, 1000);
}

}  // namespace

Outcome<Reply> InitiateUpload(Call& call) {
  std::shared_ptr<Bucket> holder;
  Outcome<WritableBucket*> bucket = FindWritable(call, holder);
  if (!bucket.ok()) return bucket.error();
  const ApiRequest& request = call.request;
  const std::string id =
      call.uploads.Begin({request.bucket(), request.key(), call.now, MetaFromHeaders(request), {}});
  return XmlReply(absl::StrCat(Root(request, "InitiateMultipartUploadResult"),
                               Element("Bucket", request.bucket()), KeyElement(request, request.key()),
                               Element("UploadId", id), "</InitiateMultipartUploadResult>"));
}

Outcome<Reply> PutPart(Call& call) {
  Outcome<int> number = PartNumber(call.request);
  if (!number.ok()) return number.error();
  StagedFile& file = call.body.file();
  UploadPart part = {nullptr, call.body.md5(), file.crc64(), file.size(), 0, call.body.checksums()};
  part.file = std::make_shared<StagedFile>(std::move(file));
  Reply reply;
  reply.Add("ETag", QuotedEtag(HexLower(part.md5), call.request.dialect));
  if (call.request.dialect == Dialect::kOss) reply.Add("x-oss-hash-crc64ecma", absl::StrCat(part.crc64));
  for (const auto& [name, value] : part.checksums) AddServiceHeader(reply, call.request, name, value);
  Outcome<Nothing> added = AddPart(call, *number, std::move(part));
  if (!added.ok()) return added.error();
  return reply;
}

Outcome<Reply> CopyPart(Call& call) {
  Outcome<int> number = PartNumber(call.request);
  if (!number.ok()) return number.error();
  std::shared_ptr<Bucket> holder;
  Outcome<WritableBucket*> bucket = FindWritable(call, holder);
  if (!bucket.ok()) return bucket.error();
  Outcome<CopySource> source = OpenCopySource(call);
  if (!source.ok()) return source.error();
  const absl::string_view header = call.request.ServiceHeader("copy-source-range");
  const RangeAnswer range = ResolveRange(header, source->object.meta.size, RangeRule::kS3);
  if (!header.empty() && range.kind != RangeAnswer::Kind::kPart) return ErrorKind::kInvalidRange;
  Outcome<StagedFile> copy = CopyBytes(**bucket, *source->object.body, range.range.begin, range.range.size());
  if (!copy.ok()) return copy.error();
  UploadPart part = {nullptr, copy->FinishMd5(), copy->crc64(), copy->size(), 0, {}};
  part.file = std::make_shared<StagedFile>(*std::move(copy));
  const std::string etag = QuotedEtag(HexLower(part.md5), call.request.dialect);
  Outcome<Nothing> added = AddPart(call, *number, std::move(part));
  if (!added.ok()) return added.error();
  Reply reply = XmlReply(absl::StrCat("<CopyPartResult><LastModified>", IsoTime(call.now),
                                      "</LastModified><ETag>", etag, "</ETag></CopyPartResult>"));
  reply.Add("ETag", etag);
  return reply;
}

Outcome<Reply> CompleteUpload(Call& call) {
  const ApiRequest& request = call.request;
  const absl::string_view id = request.Param("uploadId");
  Outcome<Upload> upload = call.uploads.Take(request.bucket(), request.key(), id);
  if (!upload.ok()) return upload.error();
  Outcome<std::vector<ChosenPart>> chosen = ReadChosenParts(call, *upload);
  const std::optional<ErrorKind> bad =
      chosen.ok() ? CheckParts(*upload, *chosen, request.dialect) : chosen.error().kind;
  Outcome<ObjectMeta> stored =
      bad.has_value() ? Outcome<ObjectMeta>(*bad) : JoinParts(call, *upload, *chosen);
  if (!stored.ok()) {
    call.uploads.PutBack(id, *std::move(upload));
    return stored.error();
  }
  const std::string etag = QuotedEtag(stored->etag, request.dialect);
  Reply reply = XmlReply(absl::StrCat(Root(request, "CompleteMultipartUploadResult"),
                                      Element("Location", absl::StrCat("http://", request.http->host, "/",
                                                                       request.bucket(), "/", request.key())),
                                      Element("Bucket", request.bucket()), KeyElement(request, request.key()),
                                      Element("ETag", etag), "</CompleteMultipartUploadResult>"));
  reply.Add("ETag", etag);
  if (request.dialect == Dialect::kOss) reply.Add("x-oss-hash-crc64ecma", absl::StrCat(*stored->crc64));
  return reply;
}

Outcome<Reply> AbortUpload(Call& call) {
  Outcome<Upload> upload =
      call.uploads.Take(call.request.bucket(), call.request.key(), call.request.Param("uploadId"));
  if (!upload.ok()) return upload.error();
  Reply reply;
  reply.status = 204;
  reply.head_only = true;
  return reply;
}

Outcome<Reply> ListParts(Call& call) {
  const ApiRequest& request = call.request;
  Outcome<Upload> upload = call.uploads.Find(request.bucket(), request.key(), request.Param("uploadId"));
  if (!upload.ok()) return upload.error();
  const uint64_t limit = Limit(request, "max-parts");
  int marker = 0;
  if (!absl::SimpleAtoi(request.Param("part-number-marker"), &marker)) marker = 0;
  std::string parts;
  uint64_t count = 0;
  int last = marker;
  auto next = upload->parts.upper_bound(marker);
  for (; next != upload->parts.end() && count < limit; ++next, ++count) {
    const UploadPart& part = next->second;
    last = next->first;
    absl::StrAppend(&parts, "<Part><PartNumber>", last, "</PartNumber><LastModified>", IsoTime(part.modified),
                    "</LastModified><ETag>", QuotedEtag(HexLower(part.md5), request.dialect), "</ETag><Size>",
                    part.size, "</Size></Part>");
  }
  const absl::string_view usual = request.dialect == Dialect::kOss ? "Standard" : "STANDARD";
  const absl::string_view storage_class = upload->meta.storage_class;
  return XmlReply(absl::StrCat(
      Root(request, "ListPartsResult"), Element("Bucket", request.bucket()),
      KeyElement(request, request.key()), Element("UploadId", request.Param("uploadId")),
      Element("StorageClass", storage_class.empty() ? usual : storage_class), "<PartNumberMarker>", marker,
      "</PartNumberMarker><NextPartNumberMarker>", last, "</NextPartNumberMarker><MaxParts>", limit,
      "</MaxParts><IsTruncated>", next == upload->parts.end() ? "false" : "true", "</IsTruncated>", parts,
      "</ListPartsResult>"));
}

Outcome<Reply> ListUploads(Call& call) {
  const ApiRequest& request = call.request;
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  const uint64_t limit = Limit(request, "max-uploads");
  const std::pair<std::string, std::string> marker = {std::string(request.Param("key-marker")),
                                                      std::string(request.Param("upload-id-marker"))};
  std::string items;
  uint64_t count = 0;
  std::pair<std::string, std::string> last = marker;
  bool truncated = false;
  for (const auto& [id, upload] : call.uploads.List(request.bucket())) {
    const bool behind =
        marker.second.empty() ? upload.key > marker.first : std::pair(upload.key, id) > marker;
    if (!absl::StartsWith(upload.key, request.Param("prefix")) || (!behind && !marker.first.empty()))
      continue;
    if (truncated = count == limit; truncated) break;
    last = {upload.key, id};
    ++count;
    absl::StrAppend(&items, "<Upload>", KeyElement(request, upload.key), Element("UploadId", id),
                    "<Initiated>", IsoTime(upload.initiated), "</Initiated></Upload>");
  }
  std::string markers;
  if (truncated || request.dialect == Dialect::kOss) {  // OSS writes them always, and oss2 looks for them.
    markers = absl::StrCat(EncodedElement(request, "NextKeyMarker", truncated ? last.first : ""),
                           Element("NextUploadIdMarker", truncated ? last.second : ""));
  }
  return XmlReply(absl::StrCat(
      Root(request, "ListMultipartUploadsResult"), Element("Bucket", request.bucket()),
      EncodedElement(request, "KeyMarker", marker.first), Element("UploadIdMarker", marker.second), markers,
      "<MaxUploads>", limit, "</MaxUploads><IsTruncated>", truncated ? "true" : "false", "</IsTruncated>",
      items, "</ListMultipartUploadsResult>"));
}

}  // namespace bucketvol::bucketd
