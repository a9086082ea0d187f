#include <algorithm>
#include <array>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mounter/objstore/oss_v1_signature.h"
#include "mounter/objstore/signer.h"
#include "mounter/objstore/signing_text.h"

namespace bucketvol {
namespace {

constexpr char kUnsignedPayload[] = "UNSIGNED-PAYLOAD";
constexpr char kV4Terminator[] = "aliyun_v4_request";

// The query parameters that version 1 signs, sorted (aliyun/alibabacloud-oss-go-sdk-v2, signer_v1.go).
constexpr std::array<absl::string_view, 38> kSubResources = {"acl",
                                                             "append",
                                                             "bucketInfo",
                                                             "callback",
                                                             "callback-var",
                                                             "cleanRestoredObject",
                                                             "cloudboxes",
                                                             "continuation-token",
                                                             "delete",
                                                             "endTime",
                                                             "img",
                                                             "location",
                                                             "objectMeta",
                                                             "partNumber",
                                                             "position",
                                                             "qos",
                                                             "regionList",
                                                             "resourceGroup",
                                                             "response-cache-control",
                                                             "response-content-disposition",
                                                             "response-content-encoding",
                                                             "response-content-language",
                                                             "response-content-type",
                                                             "response-expires",
                                                             "restore",
                                                             "seal",
                                                             "security-token",
                                                             "sequential",
                                                             "startTime",
                                                             "stat",
                                                             "status",
                                                             "symlink",
                                                             "tagging",
                                                             "uploadId",
                                                             "uploads",
                                                             "versionId",
                                                             "versioning",
                                                             "versions"};
static_assert(std::is_sorted(kSubResources.begin(), kSubResources.end()));

bool IsSubResource(absl::string_view name) {
  return absl::StartsWith(name, "x-oss-") ||
         std::binary_search(kSubResources.begin(), kSubResources.end(), name);
}

bool IsOssHeader(absl::string_view name) { return absl::StartsWith(name, "x-oss-"); }

bool AlwaysSignedV4(absl::string_view name) {
  return IsOssHeader(name) || name == "content-type" || name == "content-md5";
}

std::string CanonicalResourceV1(const SignableRequest& request) {
  QueryParameters signed_parameters;
  for (const auto& parameter : request.query) {
    if (IsSubResource(parameter.first)) signed_parameters.push_back(parameter);
  }
  absl::c_sort(signed_parameters);
  std::string resource = ResourcePath(request.bucket, request.key);
  char separator = '?';
  for (const auto& [name, value] : signed_parameters) {
    resource.push_back(separator);
    absl::StrAppend(&resource, name, value.empty() ? "" : "=", value);
    separator = '&';
  }
  return resource;
}

// Names of the request's headers to sign beyond those always signed, sorted.
std::vector<std::string> AdditionalHeadersV4(const SignableRequest& request) {
  std::vector<std::string> names;
  for (const std::string& name : request.additional_headers) {
    const bool present =
        absl::c_any_of(request.headers, [&](const HttpHeader& header) { return header.name == name; });
    if (present && !AlwaysSignedV4(name)) names.push_back(name);
  }
  absl::c_sort(names);
  return names;
}

std::string CanonicalRequestV4(const SignableRequest& request, const std::vector<std::string>& additional) {
  const SortedHeaders headers = SortHeaders(request.headers, [&](absl::string_view name) {
    return AlwaysSignedV4(name) || absl::c_binary_search(additional, name);
  });
  return absl::StrCat(request.method, "\n", EncodePath(ResourcePath(request.bucket, request.key)), "\n",
                      EncodeQuery(request.query, EmptyValue::kBare), "\n", HeaderLines(headers), "\n",
                      absl::StrJoin(additional, ";"), "\n", kUnsignedPayload);
}

void AddToken(SignableRequest& request, const Credentials& credentials) {
  if (credentials.session_token.empty()) return;
  request.headers.push_back({"x-oss-security-token", credentials.session_token.Reveal()});
}

}  // namespace

std::string OssV1Signature(const SignableRequest& request, absl::string_view date, const Secret& secret) {
  const std::string text =
      absl::StrCat(request.method, "\n", HeaderValue(request.headers, "content-md5"), "\n",
                   HeaderValue(request.headers, "content-type"), "\n", date, "\n",
                   HeaderLines(SortHeaders(request.headers, IsOssHeader)), CanonicalResourceV1(request));
  return absl::Base64Escape(AsBytes(HmacSha1(secret.Reveal(), text)));
}

void SignOssV1(SignableRequest& request, const Credentials& credentials, absl::Time now) {
  if (credentials.anonymous()) return;
  AddToken(request, credentials);
  const std::string date = HttpDate(now);
  request.headers.push_back({"date", date});
  request.headers.push_back(
      {"authorization", absl::StrCat("OSS ", credentials.access_key_id, ":",
                                     OssV1Signature(request, date, credentials.access_key_secret))});
}

void SignOssV4(SignableRequest& request, const Credentials& credentials, const SigningScope& scope,
               absl::Time now, SigningKeyCache& keys) {
  if (credentials.anonymous()) return;
  const std::string time = CompactTime(now);
  const absl::string_view day = absl::string_view(time).substr(0, 8);
  request.headers.push_back({"x-oss-date", time});
  request.headers.push_back({"x-oss-content-sha256", kUnsignedPayload});
  AddToken(request, credentials);

  const std::vector<std::string> additional = AdditionalHeadersV4(request);
  const std::string scope_text = absl::StrCat(day, "/", scope.region, "/", scope.product, "/", kV4Terminator);
  const std::string to_sign = absl::StrCat("OSS4-HMAC-SHA256\n", time, "\n", scope_text, "\n",
                                           Hex(AsBytes(Sha256(CanonicalRequestV4(request, additional)))));
  const Sha256Digest key = keys.Get("aliyun_v4", credentials.access_key_secret, day, scope, kV4Terminator);
  request.headers.push_back(
      {"authorization",
       absl::StrCat("OSS4-HMAC-SHA256 Credential=", credentials.access_key_id, "/", scope_text,
                    additional.empty() ? "" : ",AdditionalHeaders=", absl::StrJoin(additional, ";"),
                    ",Signature=", Hex(AsBytes(HmacSha256(AsBytes(key), to_sign))))});
}

}  // namespace bucketvol
