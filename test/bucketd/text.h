#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace bucketvol::bucketd {

// Formatting that allocates nothing, for the paths that run a million times a second. Each writes at `out`,
// which has room enough, and returns the end of what it wrote.

/// `value` in decimal with leading zeros to exactly `width` digits; higher digits are lost.
char* WritePadded(uint64_t value, unsigned width, char* out);
/// `value` in decimal.
char* WriteDecimal(uint64_t value, char* out);
/// Eight lower-case hex digits.
char* WriteHex32(uint32_t value, char* out);
/// Sixteen hex digits.
char* WriteHex64(uint64_t value, char* out, bool upper);

/// "2012-02-24T08:43:07.000Z", 24 bytes: how both services write times in XML.
char* WriteIsoTime(int64_t unix_seconds, char* out);
/// "Fri, 24 Feb 2012 08:43:07 GMT", 29 bytes: RFC 1123, as HTTP headers carry it.
char* WriteHttpTime(int64_t unix_seconds, char* out);
std::string HttpTime(int64_t unix_seconds);
std::string IsoTime(int64_t unix_seconds);

/// Reads an HTTP date in any of the three forms of RFC 9110. False if it is none.
bool ParseHttpTime(absl::string_view text, int64_t& unix_seconds);

/// Appends `text` percent-encoded: all but A-Z a-z 0-9 - . _ ~ and the bytes of `keep` as %XX in upper case.
void AppendPercentEncoded(std::string& out, absl::string_view text, absl::string_view keep = "");
std::string PercentEncode(absl::string_view text, absl::string_view keep = "");
/// Decodes %XX; a lone '%' stays. `plus_is_space`: the rule of query strings.
std::string PercentDecode(absl::string_view text, bool plus_is_space = false);

/// Appends `text` as XML character data: `& < > "` as entities, control bytes as numeric references.
void AppendXmlEscaped(std::string& out, absl::string_view text);

/// Appends `text` as the inside of a JSON string. Bytes that are not UTF-8 become \u00XX each.
void AppendJsonEscaped(std::string& out, absl::string_view text);

std::string ToUpper(absl::string_view text);
std::string HexLower(absl::string_view bytes);

}  // namespace bucketvol::bucketd
