#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "test/bucketd/api_request.h"
#include "test/bucketd/bucket_store.h"
#include "test/bucketd/http_message.h"
#include "test/bucketd/list_xml.h"
#include "test/bucketd/request_body.h"
#include "test/bucketd/service_error.h"
#include "test/bucketd/upload_store.h"
#include "test/bucketd/writable_bucket.h"

namespace bucketvol::bucketd {

/// One API request on its way through its handler.
struct Call {
  const ApiRequest& request;
  BucketStore& buckets;
  int64_t now;               // Unix seconds, by the server's clock.
  absl::string_view region;  // As configured; empty: none.
  RequestBody& body;
  UploadStore& uploads;
  ListDamage damage = ListDamage::kNone;
  bool ignore_if_match = false;  // The ETag of the answer will be a wrong one (fault).

  /// The bucket of the request, or NoSuchBucket.
  Outcome<std::shared_ptr<Bucket>> FindBucket() const;
};

// Each handler answers one operation; read_handlers.cc, write_handlers.cc, upload_handlers.cc,
// bucket_handlers.cc.
Outcome<Reply> ListObjects(Call& call);
Outcome<Reply> GetObject(Call& call);
Outcome<Reply> HeadObject(Call& call);
Outcome<Reply> GetObjectMeta(Call& call);
Outcome<Reply> PutObject(Call& call);
Outcome<Reply> CopyObject(Call& call);
Outcome<Reply> AppendObject(Call& call);
Outcome<Reply> PutSymlink(Call& call);
Outcome<Reply> GetSymlink(Call& call);
Outcome<Reply> DeleteObject(Call& call);
Outcome<Reply> DeleteBatch(Call& call);
Outcome<Reply> InitiateUpload(Call& call);
Outcome<Reply> PutPart(Call& call);
Outcome<Reply> CopyPart(Call& call);
Outcome<Reply> CompleteUpload(Call& call);
Outcome<Reply> AbortUpload(Call& call);
Outcome<Reply> ListParts(Call& call);
Outcome<Reply> ListUploads(Call& call);
Outcome<Reply> HeadBucket(Call& call);
Outcome<Reply> GetBucketLocation(Call& call);
Outcome<Reply> GetBucketInfo(Call& call);
Outcome<Reply> GetBucketStat(Call& call);
Outcome<Reply> GetVersioning(Call& call);
Outcome<Reply> GetAcl(Call& call);
Outcome<Reply> AcceptSetting(Call& call);
Outcome<Reply> GetTagging(Call& call);
Outcome<Reply> PutTagging(Call& call);
Outcome<Reply> DeleteTagging(Call& call);
Outcome<Reply> CreateBucket(Call& call);
Outcome<Reply> DeleteBucket(Call& call);
Outcome<Reply> ListBuckets(Call& call);

/// The bucket of the request, if it can be written; `holder` keeps it alive.
Outcome<WritableBucket*> FindWritable(const Call& call, std::shared_ptr<Bucket>& holder);

/// Makes a reply of an XML document; the declaration is put before it.
Reply XmlReply(std::string document);

/// Adds `name: value`, or `x-oss-name` / `x-amz-name`.
void AddServiceHeader(Reply& reply, const ApiRequest& request, absl::string_view name,
                      absl::string_view value);

/// `"0a1b…"`, upper case for OSS.
std::string QuotedEtag(absl::string_view etag, Dialect dialect);

}  // namespace bucketvol::bucketd
