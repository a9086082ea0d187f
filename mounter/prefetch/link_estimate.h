#pragma once

#include "absl/time/time.h"

namespace bucketvol {

/// What is known of the way to one endpoint. The defaults stand until something was measured.
struct LinkEstimate {
  // From a request to its first byte.
  absl::Duration first_byte_p50 = absl::Milliseconds(35);
  absl::Duration first_byte_p95 = absl::Milliseconds(50);
  absl::Duration first_byte_p99 = absl::Milliseconds(60);
  // The longest but one of the last 256: surer than a percentile to show that one in a hundred is slow.
  absl::Duration first_byte_slow = absl::Milliseconds(60);
  double connection_bytes_per_second = 50e6;  // Of one connection that has the link to itself.
  bool measured = false;                      // The above are no defaults any more.
  double bytes_per_second = 0;                // Of all connections together, lately.
  int streams = 0;  // Active in all objects, if known: they share the link. To be filled in by the reader.
};

}  // namespace bucketvol
