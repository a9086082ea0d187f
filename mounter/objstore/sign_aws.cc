#include <algorithm>

#include "absl/strings/str_cat.h"
#include "mounter/objstore/signer.h"
#include "mounter/objstore/signing_text.h"

namespace bucketvol {
namespace {

// SHA-256 of nothing.
constexpr char kEmptySha256[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kTerminator[] = "aws4_request";

// Host and all headers but user-agent, which proxies change. Inner runs of spaces count as one.
SortedHeaders SignedHeaders(const SignableRequest& request) {
  std::vector<HttpHeader> headers = request.headers;
  headers.push_back({"host", request.host});
  SortedHeaders sorted = SortHeaders(headers, [](absl::string_view name) { return name != "user-agent"; });
  for (auto& [name, value] : sorted) {
    const auto both_spaces = [](char a, char b) { return a == ' ' && b == ' '; };
    value.erase(std::unique(value.begin(), value.end(), both_spaces), value.end());
  }
  return sorted;
}

std::string JoinNames(const SortedHeaders& headers) {
  std::string names;
  for (const auto& [name, value] : headers) absl::StrAppend(&names, names.empty() ? "" : ";", name);
  return names;
}

}  // namespace

void SignAwsV4(SignableRequest& request, const Credentials& credentials, const SigningScope& scope,
               absl::Time now, SigningKeyCache& keys) {
  if (credentials.anonymous()) return;
  const std::string time = CompactTime(now);
  const absl::string_view day = absl::string_view(time).substr(0, 8);
  const std::string payload = request.payload_sha256.empty() ? kEmptySha256 : request.payload_sha256;
  request.headers.push_back({"x-amz-date", time});
  request.headers.push_back({"x-amz-content-sha256", payload});
  if (!credentials.session_token.empty()) {
    request.headers.push_back({"x-amz-security-token", credentials.session_token.Reveal()});
  }

  const SortedHeaders headers = SignedHeaders(request);
  const std::string names = JoinNames(headers);
  const std::string canonical = absl::StrCat(request.method, "\n", request.path, "\n",
                                             EncodeQuery(request.query, EmptyValue::kWithEquals), "\n",
                                             HeaderLines(headers), "\n", names, "\n", payload);
  const std::string scope_text = absl::StrCat(day, "/", scope.region, "/", scope.product, "/", kTerminator);
  const std::string to_sign =
      absl::StrCat("AWS4-HMAC-SHA256\n", time, "\n", scope_text, "\n", Hex(AsBytes(Sha256(canonical))));
  const Sha256Digest key = keys.Get("AWS4", credentials.access_key_secret, day, scope, kTerminator);
  request.headers.push_back(
      {"authorization", absl::StrCat("AWS4-HMAC-SHA256 Credential=", credentials.access_key_id, "/",
                                     scope_text, ",SignedHeaders=", names,
                                     ",Signature=", Hex(AsBytes(HmacSha256(AsBytes(key), to_sign))))});
}

}  // namespace bucketvol
