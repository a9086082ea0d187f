#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mounter/base/byte_range.h"

namespace bucketvol {

/// What a Content-Range header says.
struct ContentRange {
  ByteRange range;
  std::optional<uint64_t> total;  // nullopt: "*".

  friend bool operator==(const ContentRange&, const ContentRange&) = default;
};

/// Parses "bytes 0-9/44" (RFC 9110 §14.4); "~" for "-" is taken too. nullopt for anything else, also for an
/// empty range, one beyond its total, and numbers of more than 63 bits.
std::optional<ContentRange> ParseContentRange(absl::string_view value);

/// Parses "Wed, 28 Dec 2022 10:27:41 GMT" (RFC 9110 IMF-fixdate).
std::optional<absl::Time> ParseHttpDate(absl::string_view value);

/// Parses "2012-02-24T08:43:07.000Z" into Unix milliseconds; any number of digits of fraction, or none; also
/// other RFC 3339 offsets.
std::optional<int64_t> ParseIsoMillis(absl::string_view value);

/// The ETag without quotes (and without a weak mark "W/").
absl::string_view UnquoteEtag(absl::string_view value);

/// Whether two ETags name one version: services differ in the case of the hex digits.
bool SameEtag(absl::string_view a, absl::string_view b);

}  // namespace bucketvol
