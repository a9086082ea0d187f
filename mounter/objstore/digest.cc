#include "mounter/objstore/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

namespace bucketvol {
namespace {

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Sha256Digest Sha256(absl::string_view data) {
  Sha256Digest digest;
  SHA256(Bytes(data), data.size(), digest.data());
  return digest;
}

Sha256Digest HmacSha256(absl::string_view key, absl::string_view data) {
  Sha256Digest digest;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Bytes(data), data.size(), digest.data(),
       nullptr);
  return digest;
}

std::array<unsigned char, 20> HmacSha1(absl::string_view key, absl::string_view data) {
  std::array<unsigned char, 20> digest;
  HMAC(EVP_sha1(), key.data(), static_cast<int>(key.size()), Bytes(data), data.size(), digest.data(),
       nullptr);
  return digest;
}

std::string Hex(absl::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    out.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return out;
}

}  // namespace bucketvol
