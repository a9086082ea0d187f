#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace bucketvol {

/// How an ETag is stored. Stored values: never renumber.
enum class EtagKind : uint8_t {
  kNone = 0,        // Empty.
  kLower = 1,       // 32 hexadecimal digits, letters (if any) small: 16 bytes.
  kUpper = 2,       // Likewise, capital letters.
  kLowerParts = 3,  // Followed by "-N", the number of parts of a multipart upload: 16 bytes and a varint.
  kUpperParts = 4,
  kOpaque = 5,  // Anything else: a varint length and the bytes.
};

/// Appends the stored form of an ETag; every ETag comes back byte for byte.
EtagKind AppendEtag(std::string& out, absl::string_view etag);

/// Takes an ETag off the front of `in`; nullopt when that is not one.
std::optional<std::string> ConsumeEtag(EtagKind kind, absl::string_view& in);
/// Passes over an ETag without making it.
bool SkipEtag(EtagKind kind, absl::string_view& in);

}  // namespace bucketvol
