#include "test/bucketd/signed_client.h"

#include <time.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "test/bucketd/signature.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

std::string CompactTime(int64_t unix_seconds) {
  const time_t when = unix_seconds;
  struct tm fields = {};
  gmtime_r(&when, &fields);
  char text[32];
  return std::string(text, strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &fields));
}

Scope ScopeOf(SignWith scheme, const std::string& time, const std::string& region) {
  const bool oss = scheme == SignWith::kOssV4;
  return {time.substr(0, 8), region, oss ? "oss" : "s3", oss ? "aliyun_v4_request" : "aws4_request"};
}

std::vector<HttpHeader> Views(const HeaderList& headers) {
  std::vector<HttpHeader> views;
  for (const auto& [name, value] : headers) views.push_back({name, value});
  return views;
}

std::vector<std::string> SignedNames(const HeaderList& headers) {
  std::vector<std::string> names;
  for (const auto& [name, value] : headers) {
    std::string lower = absl::AsciiStrToLower(name);
    if (lower == "host" || absl::StartsWith(lower, "x-amz-")) names.push_back(std::move(lower));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

HeaderList TestSigner::Headers(absl::string_view method, absl::string_view bucket, absl::string_view key,
                               absl::string_view target, HeaderList headers) const {
  const int64_t when = now != 0 ? now : time(nullptr);
  const absl::string_view path = target.substr(0, target.find('?'));
  const std::vector<QueryParam> params =
      ParseQuery(path.size() == target.size() ? "" : target.substr(path.size() + 1));
  const std::string prefix = scheme == SignWith::kS3 ? "x-amz-" : "x-oss-";
  const bool has_host = std::any_of(headers.begin(), headers.end(),
                                    [](const auto& h) { return absl::EqualsIgnoreCase(h.first, "host"); });
  if (!has_host) headers.emplace_back("Host", "127.0.0.1");
  if (!token.empty()) headers.emplace_back(prefix + "security-token", token);
  if (scheme == SignWith::kOssV1) {
    headers.emplace_back("Date", HttpTime(when));
    const std::vector<HttpHeader> views = Views(headers);
    const SigningInput input = {method, path, bucket, key, &params, &views};
    const std::string signature = OssV1Signature(secret, OssV1StringToSign(input, HttpTime(when)));
    headers.emplace_back("Authorization", absl::StrCat("OSS ", access_key, ":", signature));
    return headers;
  }
  const std::string time = CompactTime(when);
  const Scope scope = ScopeOf(scheme, time, region);
  headers.emplace_back(prefix + "date", time);
  headers.emplace_back(prefix + "content-sha256", payload_hash);
  const std::vector<HttpHeader> views = Views(headers);
  const SigningInput input = {method, path, bucket, key, &params, &views};
  const bool oss = scheme == SignWith::kOssV4;
  const std::vector<std::string> names = oss ? std::vector<std::string>() : SignedNames(headers);
  const std::string canonical =
      oss ? OssV4CanonicalRequest(input, {}, payload_hash) : S3CanonicalRequest(input, names, payload_hash);
  const std::string algorithm = oss ? "OSS4-HMAC-SHA256" : "AWS4-HMAC-SHA256";
  const std::string signature = V4Signature(SigningKey(oss ? "aliyun_v4" : "AWS4", secret, scope),
                                            V4StringToSign(algorithm, time, scope, canonical));
  headers.emplace_back(
      "Authorization",
      absl::StrCat(algorithm, " Credential=", access_key, "/", scope.ToString(), ", ",
                   oss ? "" : absl::StrCat("SignedHeaders=", absl::StrJoin(names, ";"), ", "),
                   "Signature=", signature));
  return headers;
}

std::string TestSigner::Presign(absl::string_view method, absl::string_view bucket, absl::string_view key,
                                absl::string_view path, int64_t seconds) const {
  const int64_t when = now != 0 ? now : time(nullptr);
  const HeaderList host = {{"Host", "127.0.0.1"}};
  const std::vector<HttpHeader> views = Views(host);
  std::vector<QueryParam> params;
  if (scheme == SignWith::kOssV1) {
    const SigningInput input = {method, path, bucket, key, &params, &views};
    const std::string signature =
        OssV1Signature(secret, OssV1StringToSign(input, absl::StrCat(when + seconds)));
    return absl::StrCat(path, "?OSSAccessKeyId=", access_key, "&Expires=", when + seconds,
                        "&Signature=", PercentEncode(signature));
  }
  const std::string time = CompactTime(when);
  const Scope scope = ScopeOf(scheme, time, region);
  const bool oss = scheme == SignWith::kOssV4;
  const std::string algorithm = oss ? "OSS4-HMAC-SHA256" : "AWS4-HMAC-SHA256";
  const std::string credential = absl::StrCat(access_key, "/", scope.ToString());
  if (oss) {
    params = {{"x-oss-signature-version", algorithm},
              {"x-oss-date", time},
              {"x-oss-expires", absl::StrCat(seconds)},
              {"x-oss-credential", credential}};
  } else {
    params = {{"X-Amz-Algorithm", algorithm},
              {"X-Amz-Date", time},
              {"X-Amz-Expires", absl::StrCat(seconds)},
              {"X-Amz-Credential", credential},
              {"X-Amz-SignedHeaders", "host"}};
  }
  const SigningInput input = {method, path, bucket, key, &params, &views};
  const std::string canonical = oss ? OssV4CanonicalRequest(input, {}, "UNSIGNED-PAYLOAD")
                                    : S3CanonicalRequest(input, {"host"}, "UNSIGNED-PAYLOAD");
  params.push_back({oss ? "x-oss-signature" : "X-Amz-Signature",
                    V4Signature(SigningKey(oss ? "aliyun_v4" : "AWS4", secret, scope),
                                V4StringToSign(algorithm, time, scope, canonical))});
  const std::string query = absl::StrJoin(params, "&", [](std::string* out, const QueryParam& param) {
    absl::StrAppend(out, PercentEncode(param.name), "=", PercentEncode(param.value));
  });
  return absl::StrCat(path, "?", query);
}

}  // namespace bucketvol::bucketd
