#include "test/bucketd/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

namespace bucketvol::bucketd {
namespace {

const EVP_MD* MethodOf(DigestKind kind) {
  switch (kind) {
    case DigestKind::kMd5:
      return EVP_md5();
    case DigestKind::kSha1:
      return EVP_sha1();
    case DigestKind::kSha256:
      return EVP_sha256();
  }
  return nullptr;
}

std::string Hmac(const EVP_MD* method, absl::string_view key, absl::string_view data) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(method, key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(data.data()),
       data.size(), out, &size);
  return std::string(reinterpret_cast<char*>(out), size);
}

// 64×64 matrices over GF(2): row i is the image of bit i.
using Matrix = std::array<uint64_t, 64>;

uint64_t Apply(const Matrix& matrix, uint64_t vector) {
  uint64_t image = 0;
  for (size_t bit = 0; vector != 0; vector >>= 1, ++bit) {
    if (vector & 1) image ^= matrix[bit];
  }
  return image;
}

Matrix Square(const Matrix& matrix) {
  Matrix square;
  for (size_t bit = 0; bit < 64; ++bit) square[bit] = Apply(matrix, matrix[bit]);
  return square;
}

// What one zero bit does to the register of the reflected CRC.
Matrix OneZeroBit() {
  Matrix matrix;
  matrix[0] = 0xC96C5795D7870F42u;
  for (size_t bit = 1; bit < 64; ++bit) matrix[bit] = uint64_t{1} << (bit - 1);
  return matrix;
}

}  // namespace

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Digest(DigestKind kind) : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(context_.get(), MethodOf(kind), nullptr);
}

void Digest::Update(absl::string_view data) { EVP_DigestUpdate(context_.get(), data.data(), data.size()); }

std::string Digest::Finish() {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(context_.get(), out, &size);
  return std::string(reinterpret_cast<char*>(out), size);
}

std::string DigestOf(DigestKind kind, absl::string_view data) {
  Digest digest(kind);
  digest.Update(data);
  return digest.Finish();
}

std::string HmacSha1(absl::string_view key, absl::string_view data) { return Hmac(EVP_sha1(), key, data); }
std::string HmacSha256(absl::string_view key, absl::string_view data) {
  return Hmac(EVP_sha256(), key, data);
}

bool EqualSecrets(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

uint64_t CombineCrc64(uint64_t first, uint64_t second, uint64_t second_bytes) {
  Matrix zeros = OneZeroBit();
  for (int i = 0; i < 3; ++i) zeros = Square(zeros);  // One zero byte.
  for (; second_bytes != 0; second_bytes >>= 1, zeros = Square(zeros)) {
    if (second_bytes & 1) first = Apply(zeros, first);
  }
  return first ^ second;
}

}  // namespace bucketvol::bucketd
