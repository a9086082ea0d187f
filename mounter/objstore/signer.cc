#include "mounter/objstore/signer.h"

#include "absl/strings/str_cat.h"

namespace bucketvol {

Sha256Digest SigningKeyCache::Get(absl::string_view seed, const Secret& secret, absl::string_view day,
                                  const SigningScope& scope, absl::string_view terminator) {
  const std::string id = absl::StrCat(seed, "\n", secret.Reveal(), "\n", day, "\n", scope.region, "\n",
                                      scope.product, "\n", terminator);
  absl::MutexLock lock(&mu_);
  if (id != id_) {
    key_ = HmacSha256(absl::StrCat(seed, secret.Reveal()), day);
    key_ = HmacSha256(AsBytes(key_), scope.region);
    key_ = HmacSha256(AsBytes(key_), scope.product);
    key_ = HmacSha256(AsBytes(key_), terminator);
    id_ = id;
  }
  return key_;
}

}  // namespace bucketvol
