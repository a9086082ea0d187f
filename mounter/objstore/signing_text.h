#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mounter/objstore/http_transport.h"

namespace bucketvol {

/// "20231216T162057Z". The first eight characters are the day of the signing scope.
std::string CompactTime(absl::Time time);

/// "Wed, 28 Dec 2022 10:27:41 GMT" (RFC 9110 IMF-fixdate).
std::string HttpDate(absl::Time time);

/// Header names and trimmed values sorted by name; values of repeated names joined by ",".
using SortedHeaders = std::vector<std::pair<std::string, std::string>>;
SortedHeaders SortHeaders(const std::vector<HttpHeader>& headers,
                          absl::FunctionRef<bool(absl::string_view name)> take);

/// "name:value\n" for each.
std::string HeaderLines(const SortedHeaders& headers);

/// The value of the header with this lower-case name, or an empty view.
absl::string_view HeaderValue(const std::vector<HttpHeader>& headers, absl::string_view name);

/// "/bucket/key", "/bucket/" or "/".
std::string ResourcePath(absl::string_view bucket, absl::string_view key);

}  // namespace bucketvol
