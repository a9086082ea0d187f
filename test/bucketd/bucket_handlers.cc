#include "absl/strings/str_cat.h"
#include "test/bucketd/call.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

// What a region is called where none was configured.
constexpr absl::string_view kOssRegion = "oss-cn-hangzhou";

std::string BucketElement(const ApiRequest& request, const Bucket& bucket) {
  std::string xml = absl::StrCat("<Bucket><Name>", bucket.name(), "</Name><CreationDate>", IsoTime(bucket.created()),
                                 "</CreationDate>");
  if (request.dialect == Dialect::kOss) {
    absl::StrAppend(&xml, "<Location>", kOssRegion, "</Location><StorageClass>Standard</StorageClass>");
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

void AddServiceHeader(Reply& reply, const ApiRequest& request, absl::string_view name, absl::string_view value) {
  absl::StrAppend(&reply.headers, request.header_prefix(), name, ": ", value, "\r\n");
}

std::string QuotedEtag(absl::string_view etag, Dialect dialect) {
  return absl::StrCat("\"", dialect == Dialect::kOss ? ToUpper(etag) : std::string(etag), "\"");
}

Outcome<Reply> HeadBucket(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  Reply reply;
  if (call.request.dialect == Dialect::kS3) reply.Add("x-amz-bucket-region", "us-east-1");
  reply.head_only = true;
  return reply;
}

Outcome<Reply> GetBucketLocation(Call& call) {
  Outcome<std::shared_ptr<Bucket>> bucket = call.FindBucket();
  if (!bucket.ok()) return bucket.error();
  if (call.request.dialect == Dialect::kS3) {
    return XmlReply("<LocationConstraint xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"></LocationConstraint>");
  }
  return XmlReply(absl::StrCat("<LocationConstraint>", kOssRegion, "</LocationConstraint>"));
}

Outcome<Reply> ListBuckets(Call& call) {
  std::string xml = call.request.dialect == Dialect::kS3
                        ? "<ListAllMyBucketsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                        : "<ListAllMyBucketsResult>";
  xml += "<Owner><ID>bucketd</ID><DisplayName>bucketd</DisplayName></Owner><Buckets>";
  for (const std::shared_ptr<Bucket>& bucket : call.buckets.All()) xml += BucketElement(call.request, *bucket);
  return XmlReply(absl::StrCat(xml, "</Buckets></ListAllMyBucketsResult>"));
}

}  // namespace bucketvol::bucketd
