#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace bucketvol::bucketd {

/// `bucketd expect SPEC KEY [OFFSET LENGTH]`: writes the bytes that must be there to `out`. Wrong usage is an
/// InvalidArgument error; a key that the bucket has not, or a range beyond the object, is NotFound or
/// OutOfRange.
absl::Status RunExpect(absl::Span<char* const> arguments, int out);

/// `bucketd keys SPEC [START [N]]`: writes N keys (default: all) from number START on, a line each, to `out`.
absl::Status RunKeys(absl::Span<char* const> arguments, int out);

}  // namespace bucketvol::bucketd
