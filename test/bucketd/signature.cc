#include "test/bucketd/signature.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "test/bucketd/digest.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

// Query parameters that OSS V1 signs; besides these, all that begin with "x-oss-".
constexpr absl::string_view kSubResources[] = {"acl",
                                               "append",
                                               "asyncFetch",
                                               "bucketInfo",
                                               "callback",
                                               "callback-var",
                                               "cleanRestoredObject",
                                               "cloudboxes",
                                               "cname",
                                               "comp",
                                               "continuation-token",
                                               "cors",
                                               "delete",
                                               "encryption",
                                               "endTime",
                                               "group",
                                               "inventory",
                                               "inventoryId",
                                               "lifecycle",
                                               "link",
                                               "live",
                                               "location",
                                               "logging",
                                               "metaQuery",
                                               "objectInfo",
                                               "objectMeta",
                                               "partNumber",
                                               "policy",
                                               "position",
                                               "qos",
                                               "qosInfo",
                                               "referer",
                                               "regionList",
                                               "replication",
                                               "replicationLocation",
                                               "replicationProgress",
                                               "requestPayment",
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
                                               "style",
                                               "styleName",
                                               "symlink",
                                               "tagging",
                                               "transferAcceleration",
                                               "uploadId",
                                               "uploads",
                                               "versionId",
                                               "versioning",
                                               "versions",
                                               "vod",
                                               "website",
                                               "worm",
                                               "wormExtend",
                                               "wormId"};

bool IsSubResource(const QueryParam& param) {
  if (absl::StartsWith(param.name, "x-oss-")) return true;
  return std::find(std::begin(kSubResources), std::end(kSubResources), param.name) != std::end(kSubResources);
}

std::string OssResource(const SigningInput& input) {
  if (input.bucket.empty()) return "/";
  return absl::StrCat("/", input.bucket, "/", input.key);
}

// Inner runs of spaces count as one (S3).
std::string CollapseSpaces(absl::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c != ' ' || out.empty() || out.back() != ' ') out += c;
  }
  return out;
}

std::string CanonicalQuery(const std::vector<QueryParam>& params, absl::string_view empty_value_mark) {
  std::vector<std::pair<std::string, std::string>> encoded;
  for (const QueryParam& param : params)
    encoded.emplace_back(PercentEncode(param.name), PercentEncode(param.value));
  std::sort(encoded.begin(), encoded.end());
  return absl::StrJoin(encoded, "&", [&](std::string* out, const std::pair<std::string, std::string>& param) {
    absl::StrAppend(out, param.first, param.second.empty() ? empty_value_mark : "=", param.second);
  });
}

using SortedHeaders = std::map<std::string, std::string>;

std::string HeaderLines(const SortedHeaders& headers) {
  return absl::StrJoin(headers, "", [](std::string* out, const SortedHeaders::value_type& header) {
    absl::StrAppend(out, header.first, ":", header.second, "\n");
  });
}

// The headers that `choose` wants, by lower-case name, repeated ones joined.
template <typename Choose>
SortedHeaders ChooseHeaders(const SigningInput& input, const Choose& choose) {
  SortedHeaders chosen;
  for (const HttpHeader& header : *input.headers) {
    std::string name = absl::AsciiStrToLower(header.name);
    if (choose(name)) input.HeaderValue(name, chosen[name]);
  }
  return chosen;
}

}  // namespace

bool SigningInput::HeaderValue(absl::string_view lower_name, std::string& value) const {
  bool found = false;
  std::string joined;
  for (const HttpHeader& header : *headers) {
    if (!absl::EqualsIgnoreCase(header.name, lower_name)) continue;
    absl::StrAppend(&joined, found ? "," : "", absl::StripAsciiWhitespace(header.value));
    found = true;
  }
  if (found) value = std::move(joined);
  return found;
}

std::string Scope::ToString() const { return absl::StrCat(date, "/", region, "/", service, "/", end); }

std::string SigningKey(absl::string_view seed, absl::string_view secret, const Scope& scope) {
  const std::string of_date = HmacSha256(absl::StrCat(seed, secret), scope.date);
  return HmacSha256(HmacSha256(HmacSha256(of_date, scope.region), scope.service), scope.end);
}

std::string V4StringToSign(absl::string_view algorithm, absl::string_view time, const Scope& scope,
                           absl::string_view canonical_request) {
  return absl::StrCat(algorithm, "\n", time, "\n", scope.ToString(), "\n",
                      HexLower(DigestOf(DigestKind::kSha256, canonical_request)));
}

std::string OssV4CanonicalRequest(const SigningInput& input, std::vector<std::string> additional,
                                  absl::string_view payload_hash) {
  std::sort(additional.begin(), additional.end());
  const SortedHeaders headers = ChooseHeaders(input, [&additional](const std::string& name) {
    return name == "content-type" || name == "content-md5" || absl::StartsWith(name, "x-oss-") ||
           std::binary_search(additional.begin(), additional.end(), name);
  });
  return absl::StrCat(input.method, "\n", PercentEncode(OssResource(input), "/"), "\n",
                      CanonicalQuery(*input.params, ""), "\n", HeaderLines(headers), "\n",
                      absl::StrJoin(additional, ";"), "\n", payload_hash);
}

std::string S3CanonicalRequest(const SigningInput& input, const std::vector<std::string>& signed_headers,
                               absl::string_view payload_hash) {
  std::string lines;
  for (const std::string& name : signed_headers) {
    std::string value;
    input.HeaderValue(name, value);
    absl::StrAppend(&lines, name, ":", CollapseSpaces(value), "\n");
  }
  return absl::StrCat(input.method, "\n", PercentEncode(PercentDecode(input.path), "/"), "\n",
                      CanonicalQuery(*input.params, "="), "\n", lines, "\n",
                      absl::StrJoin(signed_headers, ";"), "\n", payload_hash);
}

std::string OssV1StringToSign(const SigningInput& input, absl::string_view date) {
  std::string md5;
  std::string type;
  input.HeaderValue("content-md5", md5);
  input.HeaderValue("content-type", type);
  const SortedHeaders headers =
      ChooseHeaders(input, [](const std::string& name) { return absl::StartsWith(name, "x-oss-"); });
  std::map<std::string, std::string> sub_resources;
  for (const QueryParam& param : *input.params) {
    if (IsSubResource(param)) sub_resources[param.name] = param.value;
  }
  const std::string query = absl::StrJoin(sub_resources, "&", [](std::string* out, const auto& item) {
    absl::StrAppend(out, item.first, item.second.empty() ? "" : "=", item.second);
  });
  return absl::StrCat(input.method, "\n", md5, "\n", type, "\n", date, "\n", HeaderLines(headers),
                      OssResource(input), query.empty() ? "" : "?", query);
}

std::string OssV1Signature(absl::string_view secret, absl::string_view string_to_sign) {
  return absl::Base64Escape(HmacSha1(secret, string_to_sign));
}

std::string V4Signature(absl::string_view signing_key, absl::string_view string_to_sign) {
  return HexLower(HmacSha256(signing_key, string_to_sign));
}

}  // namespace bucketvol::bucketd
