#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "test/bucketd/api_request.h"
#include "test/bucketd/http_message.h"

/// The three signature schemes as pure functions, for a server that computes what the client must have
/// computed. Sources: Alibaba Cloud OSS "Signature V4" and "Signature V1", AWS "Authenticating Requests
/// (Signature Version 4)".
namespace bucketvol::bucketd {

/// What of a request enters a signature.
struct SigningInput {
  absl::string_view method;
  absl::string_view path;    // As sent (S3).
  absl::string_view bucket;  // OSS signs the resource, wherever the bucket was written.
  absl::string_view key;
  const std::vector<QueryParam>* params;  // Decoded, without the parameter that holds the signature.
  const std::vector<HttpHeader>* headers;

  /// The value of a header: repeated ones joined by ",". False: not sent.
  bool HeaderValue(absl::string_view lower_name, std::string& value) const;
};

/// `DATE/REGION/SERVICE/END` of a credential.
struct Scope {
  std::string date;
  std::string region;
  std::string service;  // "oss", "oss-cloudbox", "s3"
  std::string end;      // "aliyun_v4_request", "aws4_request"
  std::string ToString() const;
};

/// `seed` is "aliyun_v4" or "AWS4". Returns the raw key of the last step.
std::string SigningKey(absl::string_view seed, absl::string_view secret, const Scope& scope);

/// The string to sign of both V4 schemes; `algorithm` is "OSS4-HMAC-SHA256" or "AWS4-HMAC-SHA256".
std::string V4StringToSign(absl::string_view algorithm, absl::string_view time, const Scope& scope,
                           absl::string_view canonical_request);

/// `additional` are the names of AdditionalHeaders, in lower case, any order.
std::string OssV4CanonicalRequest(const SigningInput& input, std::vector<std::string> additional,
                                  absl::string_view payload_hash);

/// `signed_headers` are the names of SignedHeaders, in lower case, in order.
std::string S3CanonicalRequest(const SigningInput& input, const std::vector<std::string>& signed_headers,
                               absl::string_view payload_hash);

/// `date` is the Date, or the Expires of a presigned URL.
std::string OssV1StringToSign(const SigningInput& input, absl::string_view date);
/// Base64 of HMAC-SHA1.
std::string OssV1Signature(absl::string_view secret, absl::string_view string_to_sign);

/// Lower-case hex of HMAC-SHA256.
std::string V4Signature(absl::string_view signing_key, absl::string_view string_to_sign);

}  // namespace bucketvol::bucketd
