#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bucketvol {

/// What one listing of a source leaves for the next one: where the keys were. A hint makes a listing faster
/// or slower and never changes what it finds. FORMAT.md describes the file.
struct ListingHints {
  std::string source;
  std::string endpoint;
  std::string prefix;
  uint64_t keys_apart = 0;          // From one point to the next, about.
  uint32_t streams = 0;             // Most requests that were in flight.
  std::vector<std::string> points;  // Strictly increasing keys; at most kMostHints.
};

inline constexpr char kHintsName[] = "hints";  // Beside the files of an index; not part of it.
inline constexpr size_t kMostHints = 1024;

/// The bytes of the file, and back. FailedPrecondition: another version. DataLoss: damaged.
std::string EncodeListingHints(const ListingHints& hints);
absl::StatusOr<ListingHints> DecodeListingHints(absl::string_view bytes);

/// Reads the hints in the directory of an index. Without points where there are none for this source,
/// endpoint and prefix, or they cannot be read.
ListingHints ReadListingHints(const std::string& directory, absl::string_view source,
                              absl::string_view endpoint, absl::string_view prefix);
/// Replaces them by one rename.
absl::Status WriteListingHints(const std::string& directory, const ListingHints& hints);

}  // namespace bucketvol
