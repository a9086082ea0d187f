#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

struct evp_md_ctx_st;

namespace bucketvol::bucketd {

enum class DigestKind { kMd5, kSha1, kSha256 };

/// A running digest. Movable; not thread-safe.
class Digest {
 public:
  explicit Digest(DigestKind kind);
  void Update(absl::string_view data);
  /// The raw digest of everything so far. Call once.
  std::string Finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

/// The raw digest of `data`.
std::string DigestOf(DigestKind kind, absl::string_view data);

std::string HmacSha1(absl::string_view key, absl::string_view data);
std::string HmacSha256(absl::string_view key, absl::string_view data);

/// Compares in a time that does not depend on where the difference is.
bool EqualSecrets(absl::string_view a, absl::string_view b);

/// The CRC-64 (crc.h) of two pieces one after the other, from the CRC of each and the length of the second.
uint64_t CombineCrc64(uint64_t first, uint64_t second, uint64_t second_bytes);

}  // namespace bucketvol::bucketd
