#include "mounter/objstore/digest.h"

#include <openssl/evp.h>

#include <memory>

namespace bucketvol {
namespace {

// Looked up once: by name, OpenSSL takes longer to find a digest than to compute one of a few hundred bytes.
struct Algorithm {
  explicit Algorithm(const char* name) : md(EVP_MD_fetch(nullptr, name, nullptr)) {}
  const EVP_MD* const md;  // Lives as long as the process.
};

const Algorithm& AlgorithmSha256() {
  static const Algorithm algorithm("SHA256");
  return algorithm;
}

const Algorithm& AlgorithmSha1() {
  static const Algorithm algorithm("SHA1");
  return algorithm;
}

EVP_MD_CTX* Context() {
  using Owner = std::unique_ptr<EVP_MD_CTX, decltype([](EVP_MD_CTX* context) { EVP_MD_CTX_free(context); })>;
  thread_local const Owner context(EVP_MD_CTX_new());
  return context.get();
}

// Of `first` followed by `second`.
template <size_t kSize>
std::array<unsigned char, kSize> Digest(const Algorithm& algorithm, absl::string_view first,
                                        absl::string_view second) {
  std::array<unsigned char, kSize> digest;
  EVP_MD_CTX* const context = Context();
  EVP_DigestInit_ex2(context, algorithm.md, nullptr);
  EVP_DigestUpdate(context, first.data(), first.size());
  EVP_DigestUpdate(context, second.data(), second.size());
  EVP_DigestFinal_ex(context, digest.data(), nullptr);
  return digest;
}

constexpr size_t kBlock = 64;  // Of both digests.

template <size_t kSize>
std::array<unsigned char, kSize> Hmac(const Algorithm& algorithm, absl::string_view key,
                                      absl::string_view data) {
  std::array<unsigned char, kSize> short_key;
  if (key.size() > kBlock) {
    short_key = Digest<kSize>(algorithm, key, "");
    key = AsBytes(short_key);
  }
  std::array<unsigned char, kBlock> inner, outer;
  for (size_t i = 0; i < kBlock; ++i) {
    const auto byte = i < key.size() ? static_cast<unsigned char>(key[i]) : static_cast<unsigned char>(0);
    inner[i] = byte ^ 0x36;
    outer[i] = byte ^ 0x5c;
  }
  return Digest<kSize>(algorithm, AsBytes(outer), AsBytes(Digest<kSize>(algorithm, AsBytes(inner), data)));
}

}  // namespace

Sha256Digest Sha256(absl::string_view data) { return Digest<32>(AlgorithmSha256(), data, ""); }

Sha256Digest HmacSha256(absl::string_view key, absl::string_view data) {
  return Hmac<32>(AlgorithmSha256(), key, data);
}

std::array<unsigned char, 20> HmacSha1(absl::string_view key, absl::string_view data) {
  return Hmac<20>(AlgorithmSha1(), key, data);
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
