#include "test/bucketd/authenticate.h"

#include <time.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "test/bucketd/digest.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

constexpr int64_t kMaxSkew = 15 * 60;
constexpr int64_t kLongestPresign = 7 * 24 * 3600;  // Of the V4 schemes.
constexpr absl::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

/// Everything a client says about its signature, from whichever place it was in.
struct Claim {
  bool presigned = false;
  std::string access_key;
  std::string signature;
  std::string token;
  std::string time;                  // As it enters the string to sign.
  int64_t unix_time = 0;             // Of signing; presigned V1: of the end.
  int64_t expires = 0;               // Presigned: seconds after unix_time.
  Scope scope;                       // V4 schemes.
  std::vector<std::string> headers;  // AdditionalHeaders or SignedHeaders.
  std::string payload_hash;
};

bool ParseCompactTime(const std::string& text, int64_t& unix_seconds) {
  struct tm fields = {};
  const char* end = strptime(text.c_str(), "%Y%m%dT%H%M%SZ", &fields);
  if (end == nullptr || *end != '\0') return false;
  unix_seconds = timegm(&fields);
  return true;
}

// "A=1, B=2" as services and SDKs write it: with or without a space after the comma.
std::string FieldOf(absl::string_view fields, absl::string_view name) {
  for (absl::string_view field : absl::StrSplit(fields, ',')) {
    field = absl::StripAsciiWhitespace(field);
    if (absl::ConsumePrefix(&field, name) && absl::ConsumePrefix(&field, "=")) return std::string(field);
  }
  return "";
}

bool ParseCredential(absl::string_view credential, Claim& claim) {
  std::vector<std::string> parts = absl::StrSplit(credential, '/');
  if (parts.size() < 5) return false;
  const size_t n = parts.size();
  claim.scope = {parts[n - 4], parts[n - 3], parts[n - 2], parts[n - 1]};
  parts.resize(n - 4);
  claim.access_key = absl::StrJoin(parts, "/");
  return true;
}

std::vector<std::string> SplitNames(absl::string_view names) {
  if (names.empty()) return {};
  return absl::StrSplit(absl::AsciiStrToLower(names), ';', absl::SkipEmpty());
}

bool ReadV4Header(const ApiRequest& request, absl::string_view fields, absl::string_view names_field,
                  Claim& claim) {
  claim.signature = FieldOf(fields, "Signature");
  claim.headers = SplitNames(FieldOf(fields, names_field));
  claim.time = std::string(request.ServiceHeader("date"));
  claim.token = std::string(request.ServiceHeader("security-token"));
  claim.payload_hash = std::string(request.ServiceHeader("content-sha256"));
  if (!ParseCredential(FieldOf(fields, "Credential"), claim) || claim.signature.empty()) return false;
  if (claim.time.empty()) {  // SigV4 allows a plain Date instead.
    if (!ParseHttpTime(request.http->Get("date"), claim.unix_time)) return false;
    claim.time = std::string(request.http->Get("date"));
    return true;
  }
  return ParseCompactTime(claim.time, claim.unix_time);
}

bool ReadV4Query(const ApiRequest& request, absl::string_view prefix, absl::string_view names_param,
                 Claim& claim) {
  const auto param = [&](absl::string_view name) {
    return std::string(request.Param(absl::StrCat(prefix, name)));
  };
  const bool oss = request.dialect == Dialect::kOss;
  claim.presigned = true;
  claim.signature = param(oss ? "signature" : "Signature");
  claim.time = param(oss ? "date" : "Date");
  claim.token = param(oss ? "security-token" : "Security-Token");
  claim.headers = SplitNames(request.Param(names_param));
  claim.payload_hash = std::string(kUnsignedPayload);
  return ParseCredential(param(oss ? "credential" : "Credential"), claim) &&
         ParseCompactTime(claim.time, claim.unix_time) &&
         absl::SimpleAtoi(param(oss ? "expires" : "Expires"), &claim.expires);
}

bool ReadV1Header(const ApiRequest& request, absl::string_view fields, Claim& claim) {
  const size_t colon = fields.rfind(':');
  if (colon == absl::string_view::npos) return false;
  claim.access_key = std::string(fields.substr(0, colon));
  claim.signature = std::string(fields.substr(colon + 1));
  claim.token = std::string(request.ServiceHeader("security-token"));
  // The Python SDK alibabacloud-oss-v2 leaves the prefix out in V1.
  if (claim.token.empty()) claim.token = std::string(request.http->Get("security-token"));
  claim.time = std::string(request.ServiceHeader("date"));
  if (claim.time.empty()) claim.time = std::string(request.http->Get("date"));
  return ParseHttpTime(claim.time, claim.unix_time);
}

bool ReadV1Query(const ApiRequest& request, Claim& claim) {
  claim.presigned = true;
  claim.access_key = std::string(request.Param("OSSAccessKeyId"));
  claim.signature = std::string(request.Param("Signature"));
  claim.token = std::string(request.Param("security-token"));
  claim.time = std::string(request.Param("Expires"));
  return absl::SimpleAtoi(claim.time, &claim.unix_time);
}

enum class Scheme { kOssV1, kOssV4, kS3 };

// nullopt: no signature, or, with `presigned` false, one of no scheme we know.
std::optional<Scheme> DetectScheme(const ApiRequest& request, bool& presigned) {
  const absl::string_view authorization = request.http->Get("authorization");
  presigned = authorization.empty();
  if (absl::StartsWith(authorization, "OSS4-HMAC-SHA256")) return Scheme::kOssV4;
  if (absl::StartsWith(authorization, "OSS ")) return Scheme::kOssV1;
  if (absl::StartsWith(authorization, "AWS4-HMAC-SHA256")) return Scheme::kS3;
  if (!presigned) return std::nullopt;
  if (request.Has("x-oss-signature")) return Scheme::kOssV4;
  if (request.Has("X-Amz-Signature")) return Scheme::kS3;
  if (request.Has("OSSAccessKeyId") && request.Has("Signature")) return Scheme::kOssV1;
  return std::nullopt;
}

bool ReadClaim(Scheme scheme, bool presigned, const ApiRequest& request, Claim& claim) {
  absl::string_view fields = request.http->Get("authorization");
  fields.remove_prefix(std::min(fields.size(), fields.find(' ') + 1));
  switch (scheme) {
    case Scheme::kOssV1:
      return presigned ? ReadV1Query(request, claim) : ReadV1Header(request, fields, claim);
    case Scheme::kOssV4:
      return presigned ? ReadV4Query(request, "x-oss-", "x-oss-additional-headers", claim)
                       : ReadV4Header(request, fields, "AdditionalHeaders", claim);
    case Scheme::kS3:
      return presigned ? ReadV4Query(request, "X-Amz-", "X-Amz-SignedHeaders", claim)
                       : ReadV4Header(request, fields, "SignedHeaders", claim);
  }
  return false;
}

// What the client must have computed, with the texts that lead there.
struct Expectation {
  std::string signature;
  std::string string_to_sign;
  std::string canonical_request;
  std::string signing_key;
};

std::vector<QueryParam> ParamsWithoutSignature(const ApiRequest& request, Scheme scheme) {
  const absl::string_view name = scheme == Scheme::kOssV4 ? "x-oss-signature"
                                 : scheme == Scheme::kS3  ? "X-Amz-Signature"
                                                          : "Signature";
  std::vector<QueryParam> params = request.params;
  params.erase(
      std::remove_if(params.begin(), params.end(), [&](const QueryParam& p) { return p.name == name; }),
      params.end());
  return params;
}

Expectation Expect(Scheme scheme, const ApiRequest& request, const Address& address, const Claim& claim,
                   absl::string_view secret) {
  const std::vector<QueryParam> params =
      claim.presigned ? ParamsWithoutSignature(request, scheme) : request.params;
  const SigningInput input = {request.http->method,  request.http->path, address.bucket, address.key, &params,
                              &request.http->headers};
  Expectation expected;
  if (scheme == Scheme::kOssV1) {
    expected.string_to_sign = OssV1StringToSign(input, claim.time);
    expected.signature = OssV1Signature(secret, expected.string_to_sign);
    return expected;
  }
  const bool oss = scheme == Scheme::kOssV4;
  expected.canonical_request = oss ? OssV4CanonicalRequest(input, claim.headers, claim.payload_hash)
                                   : S3CanonicalRequest(input, claim.headers, claim.payload_hash);
  expected.string_to_sign = V4StringToSign(oss ? "OSS4-HMAC-SHA256" : "AWS4-HMAC-SHA256", claim.time,
                                           claim.scope, expected.canonical_request);
  expected.signing_key = SigningKey(oss ? "aliyun_v4" : "AWS4", secret, claim.scope);
  expected.signature = V4Signature(expected.signing_key, expected.string_to_sign);
  return expected;
}

ServiceError Mismatch(Dialect dialect, const Claim& claim, const Expectation& expected) {
  ServiceError error = {ErrorKind::kSignatureMismatch, "", {}};
  error.details.emplace_back(dialect == Dialect::kOss ? "OSSAccessKeyId" : "AWSAccessKeyId",
                             claim.access_key);
  error.details.emplace_back("StringToSign", expected.string_to_sign);
  error.details.emplace_back("SignatureProvided", claim.signature);
  if (!expected.canonical_request.empty())
    error.details.emplace_back("CanonicalRequest", expected.canonical_request);
  return error;
}

std::optional<ServiceError> CheckTime(Scheme scheme, const Claim& claim, int64_t now) {
  if (claim.presigned) {
    if (claim.expires > kLongestPresign) return ServiceError{ErrorKind::kPresignedTooLong, "", {}};
    const bool over = now > claim.unix_time + (scheme == Scheme::kOssV1 ? 0 : claim.expires);
    const bool early = scheme != Scheme::kOssV1 && claim.unix_time > now + kMaxSkew;
    if (!over && !early) return std::nullopt;
    return ServiceError{ErrorKind::kPresignedExpired,
                        early ? "Request is not valid yet." : "",
                        {{"ServerTime", IsoTime(now)}}};
  }
  if (std::abs(now - claim.unix_time) <= kMaxSkew) return std::nullopt;
  return ServiceError{ErrorKind::kClockSkew,
                      "",
                      {{"MaxAllowedSkewMilliseconds", absl::StrCat(kMaxSkew * 1000)},
                       {"RequestTime", IsoTime(claim.unix_time)},
                       {"ServerTime", IsoTime(now)}}};
}

std::optional<ServiceError> CheckScope(Scheme scheme, const Claim& claim, absl::string_view region) {
  if (scheme == Scheme::kOssV1) return std::nullopt;
  const bool oss = scheme == Scheme::kOssV4;
  if (claim.scope.end != (oss ? "aliyun_v4_request" : "aws4_request"))
    return ServiceError{ErrorKind::kMalformedAuthorization, "", {}};
  if (region.empty() || claim.scope.region == region) return std::nullopt;
  return ServiceError{ErrorKind::kWrongRegion, "", {{"Region", std::string(region)}}};
}

std::optional<ServiceError> CheckToken(const Claim& claim, const Credentials& credentials) {
  // To the services a temporary key without its token is a key that does not exist.
  if (claim.token.empty() && !credentials.session_token.empty())
    return ServiceError{ErrorKind::kInvalidAccessKey, "", {}};
  if (EqualSecrets(claim.token, credentials.session_token.Reveal())) return std::nullopt;
  return ServiceError{ErrorKind::kInvalidToken, "", {}};
}

bool IsSigned(const Claim& claim, absl::string_view name) {
  return std::find(claim.headers.begin(), claim.headers.end(), name) != claim.headers.end();
}

// SigV4 names what it signs: Host and everything of the service's own must be among it.
std::optional<ServiceError> CheckSignedHeaders(Scheme scheme, const ApiRequest& request, const Claim& claim) {
  if (scheme != Scheme::kS3) return std::nullopt;
  if (!IsSigned(claim, "host"))
    return ServiceError{ErrorKind::kUnsignedHeader, "", {{"HeadersNotSigned", "host"}}};
  for (const HttpHeader& header : request.http->headers) {
    const std::string name = absl::AsciiStrToLower(header.name);
    if (!absl::StartsWith(name, "x-amz-") || IsSigned(claim, name)) continue;
    return ServiceError{ErrorKind::kUnsignedHeader, "", {{"HeadersNotSigned", name}}};
  }
  return std::nullopt;
}

std::optional<ServiceError> CheckClaim(Scheme scheme, const ApiRequest& request, const Claim& claim,
                                       const Settings& settings, int64_t now) {
  if (claim.access_key != settings.credentials.access_key) {
    const char* name = request.dialect == Dialect::kOss ? "OSSAccessKeyId" : "AWSAccessKeyId";
    return ServiceError{ErrorKind::kInvalidAccessKey, "", {{name, claim.access_key}}};
  }
  if (auto error = CheckScope(scheme, claim, settings.region); error.has_value()) return error;
  if (auto error = CheckTime(scheme, claim, now); error.has_value()) return error;
  if (auto error = CheckToken(claim, settings.credentials); error.has_value()) return error;
  if (scheme != Scheme::kOssV1 && claim.payload_hash.empty())
    return ServiceError{ErrorKind::kMissingContentHash, "", {}};
  return CheckSignedHeaders(scheme, request, claim);
}

}  // namespace

Outcome<Authentication> Authenticate(const ApiRequest& request, const std::vector<Address>& addresses,
                                     const Settings& settings, int64_t now) {
  bool presigned = false;
  const std::optional<Scheme> scheme = DetectScheme(request, presigned);
  if (!scheme.has_value())
    return presigned ? ErrorKind::kAnonymousDenied : ErrorKind::kMalformedAuthorization;
  Claim claim;
  if (!ReadClaim(*scheme, presigned, request, claim)) return ErrorKind::kMalformedAuthorization;
  if (auto error = CheckClaim(*scheme, request, claim, settings, now); error.has_value()) return *error;
  const std::string& secret = settings.credentials.secret_key.Reveal();
  for (size_t i = 0; i < addresses.size(); ++i) {
    Expectation expected = Expect(*scheme, request, addresses[i], claim, secret);
    if (!EqualSecrets(expected.signature, claim.signature)) continue;
    return Authentication{i,          claim.payload_hash, std::move(expected.signing_key), claim.signature,
                          claim.time, claim.scope};
  }
  return Mismatch(request.dialect, claim, Expect(*scheme, request, addresses[0], claim, secret));
}

}  // namespace bucketvol::bucketd
