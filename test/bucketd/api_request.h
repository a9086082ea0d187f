#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "test/bucketd/http_message.h"
#include "test/bucketd/service_error.h"

namespace bucketvol::bucketd {

struct QueryParam {
  std::string name;   // Decoded.
  std::string value;  // Decoded.
};

/// Splits and decodes a query string; '+' is a space.
std::vector<QueryParam> ParseQuery(absl::string_view query);

/// The bucket and key that a request means. Empty when there is none.
struct Address {
  std::string bucket;
  std::string key;
  bool virtual_hosted = false;
};

/// Reads Host and path. `exists` tells whether a bucket of that name is served: a host of the form
/// BUCKET.anything names a bucket, yet `store.example.com/bucket/key` is path style too, so what exists
/// decides, then the form. IP addresses and localhost are always path style, BUCKET.localhost never;
/// s3.ANY.localhost and oss-REGION.ANY.localhost are endpoints.
///
/// The second address, if any, is another reading, right only if the signature says so: ali-oss, told an IP
/// endpoint with `sldEnable`, sends `Host: BUCKET.REGION.aliyuncs.com` with the path `/BUCKET/key` and signs
/// `/BUCKET/key`.
std::vector<Address> ReadAddresses(const HttpRequest& request, const std::vector<QueryParam>& params,
                                   const std::function<bool(absl::string_view)>& exists);

enum class Operation {
  kListBuckets,
  kCreateBucket,
  kDeleteBucket,
  kHeadBucket,
  kBucketLocation,
  kBucketInfo,
  kBucketStat,
  kBucketAcl,
  kBucketVersioning,
  kPutBucketSetting,
  kListObjects,
  kListObjectsV2,
  kListVersions,
  kListUploads,
  kBatchDelete,
  kGetObject,
  kHeadObject,
  kObjectMeta,
  kPutObject,
  kCopyObject,
  kDeleteObject,
  kPutSymlink,
  kGetSymlink,
  kAppend,
  kInitiateUpload,
  kUploadPart,
  kCopyPart,
  kCompleteUpload,
  kAbortUpload,
  kListParts,
  kObjectAcl,
  kPutObjectAcl,
  kGetTagging,
  kPutTagging,
  kDeleteTagging,
  kWrongMethod,
  kUnsupported,
};

/// How operations are counted and matched by faults: method names, LIST for listings of objects, OTHER for
/// service and bucket settings, lists of uploads and the like.
enum class OperationClass { kGet, kHead, kList, kPut, kDelete, kPost, kOther };
constexpr int kOperationClasses = 7;
absl::string_view NameOf(OperationClass operation_class);

/// One request to the API, decoded.
struct ApiRequest {
  const HttpRequest* http = nullptr;
  Dialect dialect = Dialect::kS3;
  Address address;
  std::vector<QueryParam> params;
  Operation operation = Operation::kUnsupported;

  const std::string& bucket() const { return address.bucket; }
  const std::string& key() const { return address.key; }
  bool Has(absl::string_view param) const { return FindParam(param) != nullptr; }
  /// The decoded value; empty when missing.
  absl::string_view Param(absl::string_view param) const;
  /// The header `x-oss-NAME` or `x-amz-NAME`, whichever is the dialect's.
  absl::string_view ServiceHeader(absl::string_view name) const;
  absl::string_view header_prefix() const { return dialect == Dialect::kOss ? "x-oss-" : "x-amz-"; }

 private:
  const QueryParam* FindParam(absl::string_view param) const;
};

/// Which operation method, address, parameters and headers ask for.
Operation Classify(const ApiRequest& request);
OperationClass ClassOf(Operation operation);

/// OSS if anything in the request is OSS's own (Authorization, x-oss-*, query signature), else S3.
Dialect DetectDialect(const HttpRequest& request, const std::vector<QueryParam>& params);

}  // namespace bucketvol::bucketd
