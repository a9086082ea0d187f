#include <algorithm>

#include "absl/strings/str_cat.h"
#include "test/bucketd/call.h"
#include "test/bucketd/text.h"
#include "test/bucketd/xml.h"

namespace bucketvol::bucketd {
namespace {

// The regions where none was configured.
constexpr absl::string_view kOssRegion = "cn-hangzhou";
constexpr absl::string_view kS3Region = "us-east-1";
constexpr absl::string_view kOwner = "<Owner><ID>bucketd</ID><DisplayName>bucketd</DisplayName></Owner>";
// The stored header that holds an object's tags, as the document that goes out.
constexpr absl::string_view kTagging = "tagging";

Outcome<Nothing> SetTagging(Call& call, const std::string& document) {
  std::shared_ptr<Bucket> holder;
  Outcome<WritableBucket*> bucket = FindWritable(call, holder);
  if (!bucket.ok()) return bucket.error();
  return (*bucket)->Update(call.request.key(), [&document](ObjectMeta& meta) {
    meta.headers.erase(std::remove_if(meta.headers.begin(), meta.headers.end(),
                                      [](const auto& header) { return header.first == kTagging; }),
                       meta.headers.end());
    if (!document.empty()) meta.headers.emplace_back(std::string(kTagging), document);
  });
}

std::string OssLocation(const Call& call) {
  return absl::StrCat("oss-", call.region.empty() ? kOssRegion : call.region);
}

// Adds up a whole bucket.
class SumVisitor final : public EntryVisitor {
 public:
  Step Visit(const ListEntry& entry) override {
    bytes_ += entry.size;
    ++objects_;
    return Step::kNext;
  }
  absl::string_view skip_prefix() const override { return {}; }

  uint64_t bytes() const { return bytes_; }
  uint64_t objects() const { return objects_; }

 private:
  uint64_t bytes_ = 0;
  uint64_t objects_ = 0;
};

std::string BucketElement(const Call& call, const Bucket& bucket) {
  std::string xml = absl::StrCat("<Bucket><Name>", bucket.name(), "</Name><CreationDate>",
                                 IsoTime(bucket.created()), "</CreationDate>");
  if (call.request.dialect == Dialect::kOss) {
    const absl::string_view host = call.request.http->host;
    absl::StrAppend(&xml, "<ExtranetEndpoint>", host, "</ExtranetEndpoint><IntranetEndpoint>", host,
                    "</IntranetEndpoint><Location>", OssLocation(call),
                    "</Location><StorageClass>Standard</StorageClass>");
  }
  return absl::StrCat(xml, "</Bucket>");
}

}  // namespace

Outcome<std::shared_ptr<Bucket>> Call::FindBucket() const {
  std::shared_ptr<Bucket> bucket = buckets.Find(request.bucket());
  if (bucket != nullptr) return bucket;
  return ServiceError{ErrorKind::kNoSuchBucket, "", {{"BucketName", request.bucket()}}};
}

Reply XmlReply(std::string document) {
  Reply reply;
  reply.Add("Content-Type", "application/xml");
  reply.preamble = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  reply.body = std::move(document);
  return reply;
}

void AddServiceHeader(Reply& reply, const ApiRequest& request, absl::string_view name,
                      absl::string_view value) {
  absl::StrAppend(&reply.headers, request.header_prefix(), name, ": ", value, "\r\n");
}

std::string QuotedEtag(absl::string_view etag, Dialect dialect) {
  return absl::StrCat("\"", dialect == Dialect::kOss ? ToUpper(etag) : std::string(etag), "\"");
}

Outcome<Reply> HeadBucket(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  Reply reply;
  if (call.request.dialect == Dialect::kS3)
    reply.Add("x-amz-bucket-region", call.region.empty() ? kS3Region : call.region);
  reply.head_only = true;
  return reply;
}

Outcome<Reply> GetBucketLocation(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  if (call.request.dialect == Dialect::kS3) {
    // The oldest region has no name here.
    return XmlReply(absl::StrCat("<LocationConstraint xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">",
                                 call.region == kS3Region ? "" : call.region, "</LocationConstraint>"));
  }
  return XmlReply(absl::StrCat("<LocationConstraint>", OssLocation(call), "</LocationConstraint>"));
}

Outcome<Reply> GetBucketInfo(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  return XmlReply(absl::StrCat(
      "<BucketInfo><Bucket><CreationDate>", IsoTime((*bucket)->created()), "</CreationDate>",
      "<ExtranetEndpoint>", call.request.http->host, "</ExtranetEndpoint><IntranetEndpoint>",
      call.request.http->host, "</IntranetEndpoint><Location>", OssLocation(call), "</Location><Name>",
      (*bucket)->name(), "</Name><StorageClass>Standard</StorageClass>", kOwner,
      "<AccessControlList><Grant>private</Grant></AccessControlList></Bucket></BucketInfo>"));
}

Outcome<Reply> GetBucketStat(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  SumVisitor sum;
  (*bucket)->Scan("", Bound::kAt, sum);
  return XmlReply(absl::StrCat("<BucketStat><Storage>", sum.bytes(), "</Storage><ObjectCount>", sum.objects(),
                               "</ObjectCount><MultipartUploadCount>",
                               call.uploads.List(call.request.bucket()).size(),
                               "</MultipartUploadCount></BucketStat>"));
}

Outcome<Reply> GetVersioning(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  return XmlReply("<VersioningConfiguration></VersioningConfiguration>");
}

Outcome<Reply> GetAcl(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  if (call.request.operation == Operation::kObjectAcl) {
    Outcome<OpenObject> object = (*bucket)->Open(call.request.key());
    if (!object.ok()) return object.error();
  }
  const bool oss = call.request.dialect == Dialect::kOss;
  return XmlReply(
      absl::StrCat("<AccessControlPolicy>", kOwner, "<AccessControlList>",
                   oss ? "<Grant>private</Grant>"
                       : "<Grant><Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
                         "xsi:type=\"CanonicalUser\"><ID>bucketd</ID>"
                         "</Grantee><Permission>FULL_CONTROL</Permission></Grant>",
                   "</AccessControlList></AccessControlPolicy>"));
}

// Settings of access and versioning have no effect here; that they were taken is all that clients look at.
Outcome<Reply> AcceptSetting(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  return Reply();
}

Outcome<Reply> GetTagging(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  Outcome<OpenObject> object = (*bucket)->Open(call.request.key());
  if (!object.ok()) return object.error();
  for (const auto& [name, value] : object->meta.headers) {
    if (name == kTagging) return XmlReply(value);
  }
  return XmlReply("<Tagging><TagSet></TagSet></Tagging>");
}

Outcome<Reply> PutTagging(Call& call) {
  const std::optional<XmlNode> root = ParseXml(call.body.text());
  const XmlNode* set = root.has_value() ? root->Child("TagSet") : nullptr;
  if (set == nullptr) return ErrorKind::kMalformedXml;
  std::string xml = "<Tagging><TagSet>";
  for (const XmlNode& tag : set->children) {
    xml += "<Tag><Key>";
    AppendXmlEscaped(xml, tag.ChildText("Key"));
    xml += "</Key><Value>";
    AppendXmlEscaped(xml, tag.ChildText("Value"));
    xml += "</Value></Tag>";
  }
  Outcome<Nothing> done = SetTagging(call, absl::StrCat(xml, "</TagSet></Tagging>"));
  return done.ok() ? Outcome<Reply>(Reply()) : Outcome<Reply>(done.error());
}

Outcome<Reply> DeleteTagging(Call& call) {
  Outcome<Nothing> done = SetTagging(call, "");
  if (!done.ok()) return done.error();
  Reply reply;
  reply.status = 204;
  reply.head_only = true;
  return reply;
}

Outcome<Reply> CreateBucket(Call& call) {
  Outcome<Nothing> created = call.buckets.Create(call.request.bucket());
  if (!created.ok()) return created.error();
  Reply reply;
  reply.Add("Location", absl::StrCat("/", call.request.bucket()));
  return reply;
}

Outcome<Reply> DeleteBucket(Call& call) {
  Outcome<Nothing> removed = call.buckets.Remove(call.request.bucket());
  if (!removed.ok()) return removed.error();
  Reply reply;
  reply.status = 204;
  reply.head_only = true;
  return reply;
}

Outcome<Reply> ListBuckets(Call& call) {
  std::string xml = call.request.dialect == Dialect::kS3
                        ? "<ListAllMyBucketsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                        : "<ListAllMyBucketsResult>";
  absl::StrAppend(&xml, kOwner, "<Buckets>");
  for (const std::shared_ptr<Bucket>& bucket : call.buckets.All()) xml += BucketElement(call, *bucket);
  return XmlReply(absl::StrCat(xml, "</Buckets></ListAllMyBucketsResult>"));
}

}  // namespace bucketvol::bucketd
