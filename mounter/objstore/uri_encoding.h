#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace bucketvol {

/// Query parameters, decoded, in any order.
using QueryParameters = std::vector<std::pair<std::string, std::string>>;

/// Percent-encodes all but `A-Z a-z 0-9 - . _ ~ /`, hex digits in upper case (RFC 3986 §2.1). For keys in a
/// path.
std::string EncodePath(absl::string_view bytes);

/// The same, and `/` too. For names and values of a query.
std::string EncodeQueryPart(absl::string_view bytes);

/// How a parameter without value is written: `k`, or `k=` as the canonical form of AWS wants it.
enum class EmptyValue { kBare, kWithEquals };

/// "a=1&b=%20", encoded and sorted by encoded name, then value. Empty without parameters.
std::string EncodeQuery(const QueryParameters& query, EmptyValue empty);

/// Decodes %XX, and `+` to a space (application/x-www-form-urlencoded), in place: `data` shrinks or stays.
/// Returns the new size; nullopt, with the bytes unspecified, for a `%` without two hex digits.
std::optional<size_t> DecodeFormInPlace(char* data, size_t size);

}  // namespace bucketvol
