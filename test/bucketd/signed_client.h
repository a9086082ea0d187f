#pragma once

#include <string>

#include "test/bucketd/http_client.h"
#include "test/bucketd/service_error.h"

namespace bucketvol::bucketd {

enum class SignWith { kOssV1, kOssV4, kS3 };

/// Signs as a client does, for tests of the server. The schemes themselves are held to published vectors
/// elsewhere.
struct TestSigner {
  SignWith scheme = SignWith::kOssV4;
  std::string access_key = "ak";
  std::string secret = "sk";
  std::string token;  // Empty: none.
  std::string region = "cn-hangzhou";
  int64_t now = 0;  // Unix seconds; 0: the real time.
  std::string payload_hash = "UNSIGNED-PAYLOAD";

  /// The headers of a signed request, Host among them. `raw_path` is percent-encoded. `bucket` and `key` are
  /// what the path means.
  HeaderList Headers(absl::string_view method, absl::string_view bucket, absl::string_view key,
                     absl::string_view target, HeaderList headers = {}) const;
  /// The presigned target, valid for `seconds`.
  std::string Presign(absl::string_view method, absl::string_view bucket, absl::string_view key,
                      absl::string_view path, int64_t seconds) const;
};

}  // namespace bucketvol::bucketd
