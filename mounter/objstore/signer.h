#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/objstore/credential_provider.h"
#include "mounter/objstore/digest.h"
#include "mounter/objstore/http_transport.h"
#include "mounter/objstore/uri_encoding.h"

namespace bucketvol {

/// What a signature is computed over, and where its headers go.
struct SignableRequest {
  absl::string_view method;  // "GET"
  std::string bucket;        // Empty: a request to the service.
  std::string key;           // Decoded bytes. Empty: a request to the bucket.
  std::string path;          // As sent: encoded, with the bucket in path style.
  std::string host;          // As sent in Host: with the port unless it is the scheme's own.
  QueryParameters query;
  std::string payload_sha256;  // Hex; empty: the request has no body.
  std::vector<std::string> additional_headers =
      {};                                // OSS V4: lower-case names to sign beyond those always signed.
  std::vector<HttpHeader> headers = {};  // In: those of the request. Out: also those of the signature.
};

/// Where signatures hold: the region, and for OSS V4 the product ("oss", "oss-cloudbox").
struct SigningScope {
  std::string region;
  std::string product;
};

/// Remembers the key derived from secret, day and scope, which costs four HMACs. Thread-safe.
class SigningKeyCache {
 public:
  /// `seed` is the prefix of the secret, `terminator` the last step ("aws4_request").
  Sha256Digest Get(absl::string_view seed, const Secret& secret, absl::string_view day,
                   const SigningScope& scope, absl::string_view terminator);

 private:
  absl::Mutex mu_;
  std::string id_ ABSL_GUARDED_BY(mu_);  // Everything the key depends on, joined.
  Sha256Digest key_ ABSL_GUARDED_BY(mu_);
};

// Each adds date, token and Authorization headers to `request`, for a request sent at `now`. A request must
// be signed again for every attempt. Anonymous credentials leave it as it is. Thread-safe.

/// OSS signature version 1 (HMAC-SHA1 over headers and sub-resources).
void SignOssV1(SignableRequest& request, const Credentials& credentials, absl::Time now);
/// OSS signature version 4. Sends `UNSIGNED-PAYLOAD`, as the SDKs do.
void SignOssV4(SignableRequest& request, const Credentials& credentials, const SigningScope& scope,
               absl::Time now, SigningKeyCache& keys);
/// AWS signature version 4 for S3 in headers. Signs host and every header of the request but user-agent.
void SignAwsV4(SignableRequest& request, const Credentials& credentials, const SigningScope& scope,
               absl::Time now, SigningKeyCache& keys);

}  // namespace bucketvol
