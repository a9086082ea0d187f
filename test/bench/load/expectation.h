#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "test/bucketd/synthetic_spec.h"

namespace bucketvol::bench {

/// Knows the bytes of a synthetic bucket's objects. For one thread.
class Expectation {
 public:
  /// Without a spec everything is as expected.
  explicit Expectation(const std::optional<bucketd::SyntheticSpec>& spec) : spec_(spec) {}

  /// Whether `data` is what object `key` holds at `offset`. Names the first byte that differs on the standard
  /// error.
  bool Holds(absl::string_view key, uint64_t offset, absl::Span<const char> data);
  /// The size that object `key` must have; nothing without a spec.
  std::optional<uint64_t> SizeOf(absl::string_view key) const;

 private:
  bool PieceHolds(absl::string_view key, uint64_t seed, uint64_t offset, absl::Span<const char> data);

  const std::optional<bucketd::SyntheticSpec>& spec_;
  std::vector<char> scratch_;
};

}  // namespace bucketvol::bench
