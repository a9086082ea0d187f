#pragma once

#include <array>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace bucketvol {

using Sha256Digest = std::array<unsigned char, 32>;

Sha256Digest Sha256(absl::string_view data);
/// RFC 2104 over SHA-256 and SHA-1.
Sha256Digest HmacSha256(absl::string_view key, absl::string_view data);
std::array<unsigned char, 20> HmacSha1(absl::string_view key, absl::string_view data);

/// The digest's bytes as the key or data of the next step.
template <size_t kSize>
absl::string_view AsBytes(const std::array<unsigned char, kSize>& digest) {
  return {reinterpret_cast<const char*>(digest.data()), kSize};
}

/// Lower-case hex.
std::string Hex(absl::string_view bytes);

}  // namespace bucketvol
