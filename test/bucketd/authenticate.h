#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/bucketd/api_request.h"
#include "test/bucketd/service_error.h"
#include "test/bucketd/settings.h"
#include "test/bucketd/signature.h"

namespace bucketvol::bucketd {

/// What a verified signature says of the request.
struct Authentication {
  size_t address = 0;        // Which of the readings of host and path was signed.
  std::string payload_hash;  // As declared and signed: hex SHA-256, UNSIGNED-PAYLOAD, STREAMING-…; empty: not
                             // declared (V1).
  // For the signatures of aws-chunked bodies.
  std::string signing_key;
  std::string signature;
  std::string time;
  Scope scope;
};

/// Verifies the signature of a request: OSS V1, OSS V4 or SigV4, in the Authorization header or presigned.
/// Requests that are more than 15 minutes off, presigned ones that have expired, a wrong session token,
/// x-amz-* headers that are not signed, and requests without a signature are refused. `addresses` are the
/// possible readings, in order of likelihood. `now` is Unix time by the server's clock.
Outcome<Authentication> Authenticate(const ApiRequest& request, const std::vector<Address>& addresses,
                                     const Settings& settings, int64_t now);

}  // namespace bucketvol::bucketd
