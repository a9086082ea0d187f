#include "test/bucketd/api_request.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

absl::string_view WithoutPort(absl::string_view host) {
  if (absl::StartsWith(host, "[")) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool IsIpAddress(absl::string_view host) {
  in_addr parsed;
  return absl::StartsWith(host, "[") || inet_pton(AF_INET, std::string(host).c_str(), &parsed) == 1;
}

Address PathStyle(absl::string_view path) {
  const size_t slash = path.find('/', 1);
  Address address;
  address.bucket = PercentDecode(path.substr(1, slash == absl::string_view::npos ? slash : slash - 1));
  if (slash != absl::string_view::npos) address.key = PercentDecode(path.substr(slash + 1));
  return address;
}

Address VirtualHosted(absl::string_view bucket, absl::string_view path) {
  return {std::string(bucket), PercentDecode(path.substr(1)), true};
}

// The longest beginning of `host` that ends before a dot and names a bucket: S3 bucket names may hold dots.
absl::string_view ExistingBucketOf(absl::string_view host,
                                   const std::function<bool(absl::string_view)>& exists) {
  for (size_t dot = host.rfind('.'); dot != absl::string_view::npos && dot > 0;
       dot = host.rfind('.', dot - 1)) {
    if (exists(host.substr(0, dot))) return host.substr(0, dot);
  }
  return {};
}

bool LooksLikeServiceEndpoint(absl::string_view label) {
  return absl::StartsWithIgnoreCase(label, "oss") || absl::StartsWithIgnoreCase(label, "s3");
}

// On "/" of an unknown host: true when the query makes sense for a bucket only.
bool AsksForBucket(const HttpRequest& request, const std::vector<QueryParam>& params) {
  if (request.method != "GET") return true;
  constexpr absl::string_view kBucketOnly[] = {"list-type", "delimiter", "location",   "acl",
                                               "uploads",   "versions",  "bucketInfo", "encoding-type"};
  return std::any_of(params.begin(), params.end(), [&](const QueryParam& param) {
    return std::find(std::begin(kBucketOnly), std::end(kBucketOnly), param.name) != std::end(kBucketOnly);
  });
}

bool UnknownHostIsBucket(const HttpRequest& request, const std::vector<QueryParam>& params,
                         absl::string_view host, const std::function<bool(absl::string_view)>& exists) {
  const absl::string_view label = host.substr(0, host.find('.'));
  const bool below_localhost = absl::EndsWithIgnoreCase(host, ".localhost");
  const bool nothing_between = label.size() + absl::string_view(".localhost").size() == host.size();
  if (below_localhost && nothing_between) return true;
  if (LooksLikeServiceEndpoint(label)) return false;
  if (below_localhost) return true;
  if (request.path == "/") return AsksForBucket(request, params);
  return !exists(PathStyle(request.path).bucket);
}

Operation ClassifyService(const ApiRequest& request) {
  return request.http->method == "GET" ? Operation::kListBuckets : Operation::kUnsupported;
}

// Settings of buckets that are not served. SDKs add parameters of their own (`x-id=…`), which mean nothing.
bool AsksForSetting(const ApiRequest& request) {
  constexpr absl::string_view kSettings[] = {"tagging",     "policy",      "cors",    "lifecycle",
                                             "encryption",  "object-lock", "logging", "website",
                                             "replication", "inventory",   "referer"};
  return std::any_of(std::begin(kSettings), std::end(kSettings),
                     [&request](absl::string_view setting) { return request.Has(setting); });
}

Operation ClassifyBucketGet(const ApiRequest& request) {
  constexpr std::pair<absl::string_view, Operation> kByParam[] = {
      {"location", Operation::kBucketLocation},     {"acl", Operation::kBucketAcl},
      {"bucketInfo", Operation::kBucketInfo},       {"stat", Operation::kBucketStat},
      {"versioning", Operation::kBucketVersioning}, {"uploads", Operation::kListUploads},
      {"versions", Operation::kListVersions}};
  for (const auto& [param, operation] : kByParam) {
    if (request.Has(param)) return operation;
  }
  if (AsksForSetting(request)) return Operation::kUnsupported;
  return request.Param("list-type") == "2" ? Operation::kListObjectsV2 : Operation::kListObjects;
}

Operation ClassifyBucket(const ApiRequest& request) {
  const absl::string_view method = request.http->method;
  if (method == "GET") return ClassifyBucketGet(request);
  if (method == "HEAD") return Operation::kHeadBucket;
  if (method == "DELETE") return AsksForSetting(request) ? Operation::kUnsupported : Operation::kDeleteBucket;
  if (method == "POST") return request.Has("delete") ? Operation::kBatchDelete : Operation::kUnsupported;
  if (method != "PUT") return Operation::kUnsupported;
  const bool setting = request.Has("acl") || request.Has("versioning") || request.Has("tagging");
  return setting ? Operation::kPutBucketSetting : Operation::kCreateBucket;
}

Operation ClassifyObjectGet(const ApiRequest& request) {
  if (request.Has("uploadId")) return Operation::kListParts;
  if (request.Has("acl")) return Operation::kObjectAcl;
  if (request.Has("tagging")) return Operation::kGetTagging;
  if (request.Has("symlink")) return Operation::kGetSymlink;
  return request.Has("objectMeta") ? Operation::kObjectMeta : Operation::kGetObject;
}

Operation ClassifyObjectPut(const ApiRequest& request) {
  const bool copies = !request.ServiceHeader("copy-source").empty();
  if (request.Has("uploadId")) return copies ? Operation::kCopyPart : Operation::kUploadPart;
  if (request.Has("acl")) return Operation::kPutObjectAcl;
  if (request.Has("tagging")) return Operation::kPutTagging;
  if (request.Has("symlink")) return Operation::kPutSymlink;
  return copies ? Operation::kCopyObject : Operation::kPutObject;
}

Operation ClassifyObjectPost(const ApiRequest& request) {
  if (request.Has("uploads")) return Operation::kInitiateUpload;
  if (request.Has("uploadId")) return Operation::kCompleteUpload;
  return request.Has("append") ? Operation::kAppend : Operation::kWrongMethod;
}

Operation ClassifyObjectDelete(const ApiRequest& request) {
  if (request.Has("uploadId")) return Operation::kAbortUpload;
  return request.Has("tagging") ? Operation::kDeleteTagging : Operation::kDeleteObject;
}

bool IsOssHeader(const HttpHeader& header) {
  if (absl::StartsWithIgnoreCase(header.name, "x-oss-")) return true;
  return absl::EqualsIgnoreCase(header.name, "authorization") && absl::StartsWith(header.value, "OSS");
}

}  // namespace

std::vector<QueryParam> ParseQuery(absl::string_view query) {
  std::vector<QueryParam> params;
  if (query.empty()) return params;
  for (const absl::string_view item : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const size_t equals = item.find('=');
    const absl::string_view value = equals == absl::string_view::npos ? "" : item.substr(equals + 1);
    params.push_back({PercentDecode(item.substr(0, equals), true), PercentDecode(value, true)});
  }
  return params;
}

std::vector<Address> ReadAddresses(const HttpRequest& request, const std::vector<QueryParam>& params,
                                   const std::function<bool(absl::string_view)>& exists) {
  const absl::string_view host = WithoutPort(request.host);
  if (host.find('.') == absl::string_view::npos || IsIpAddress(host)) return {PathStyle(request.path)};
  if (const absl::string_view bucket = ExistingBucketOf(host, exists); !bucket.empty()) {
    std::vector<Address> addresses = {VirtualHosted(bucket, request.path)};
    Address by_path = PathStyle(request.path);
    if (by_path.bucket == bucket) addresses.push_back(std::move(by_path));
    return addresses;
  }
  if (!UnknownHostIsBucket(request, params, host, exists)) return {PathStyle(request.path)};
  return {VirtualHosted(host.substr(0, host.find('.')), request.path)};
}

absl::string_view NameOf(OperationClass operation_class) {
  constexpr absl::string_view kNames[kOperationClasses] = {"GET",    "HEAD", "LIST", "PUT",
                                                           "DELETE", "POST", "OTHER"};
  return kNames[static_cast<int>(operation_class)];
}

const QueryParam* ApiRequest::FindParam(absl::string_view param) const {
  for (const QueryParam& candidate : params) {
    if (candidate.name == param) return &candidate;
  }
  return nullptr;
}

absl::string_view ApiRequest::Param(absl::string_view param) const {
  const QueryParam* found = FindParam(param);
  return found == nullptr ? absl::string_view() : absl::string_view(found->value);
}

absl::string_view ApiRequest::ServiceHeader(absl::string_view name) const {
  return http->Get(absl::StrCat(header_prefix(), name));
}

Operation Classify(const ApiRequest& request) {
  if (request.bucket().empty()) return ClassifyService(request);
  if (request.key().empty()) return ClassifyBucket(request);
  const absl::string_view method = request.http->method;
  if (method == "GET") return ClassifyObjectGet(request);
  if (method == "HEAD") return request.Has("objectMeta") ? Operation::kObjectMeta : Operation::kHeadObject;
  if (method == "PUT") return ClassifyObjectPut(request);
  if (method == "POST") return ClassifyObjectPost(request);
  return method == "DELETE" ? ClassifyObjectDelete(request) : Operation::kWrongMethod;
}

OperationClass ClassOf(Operation operation) {
  switch (operation) {
    case Operation::kGetObject:
    case Operation::kGetSymlink:
      return OperationClass::kGet;
    case Operation::kHeadObject:
    case Operation::kObjectMeta:
    case Operation::kHeadBucket:
      return OperationClass::kHead;
    case Operation::kListObjects:
    case Operation::kListObjectsV2:
    case Operation::kListVersions:
      return OperationClass::kList;
    case Operation::kPutObject:
    case Operation::kCopyObject:
    case Operation::kPutSymlink:
    case Operation::kUploadPart:
    case Operation::kCopyPart:
    case Operation::kCreateBucket:
    case Operation::kPutObjectAcl:
    case Operation::kPutTagging:
    case Operation::kPutBucketSetting:
      return OperationClass::kPut;
    case Operation::kDeleteObject:
    case Operation::kDeleteBucket:
    case Operation::kAbortUpload:
    case Operation::kDeleteTagging:
      return OperationClass::kDelete;
    case Operation::kBatchDelete:
    case Operation::kAppend:
    case Operation::kInitiateUpload:
    case Operation::kCompleteUpload:
      return OperationClass::kPost;
    case Operation::kListBuckets:
    case Operation::kBucketLocation:
    case Operation::kBucketInfo:
    case Operation::kBucketStat:
    case Operation::kBucketAcl:
    case Operation::kBucketVersioning:
    case Operation::kListUploads:
    case Operation::kListParts:
    case Operation::kObjectAcl:
    case Operation::kGetTagging:
    case Operation::kWrongMethod:
    case Operation::kUnsupported:
      break;
  }
  return OperationClass::kOther;
}

Dialect DetectDialect(const HttpRequest& request, const std::vector<QueryParam>& params) {
  if (absl::StartsWith(request.Get("authorization"), "AWS4-")) return Dialect::kS3;
  if (std::any_of(request.headers.begin(), request.headers.end(), IsOssHeader)) return Dialect::kOss;
  const bool oss_query = std::any_of(params.begin(), params.end(), [](const QueryParam& param) {
    return param.name == "OSSAccessKeyId" || absl::StartsWith(param.name, "x-oss-") ||
           param.name == "objectMeta" || param.name == "bucketInfo";
  });
  return oss_query ? Dialect::kOss : Dialect::kS3;
}

}  // namespace bucketvol::bucketd
