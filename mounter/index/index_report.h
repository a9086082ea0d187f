#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace bucketvol {

/// Why a key has no file in the tree.
enum class SkipReason {
  kEmptySegment,  // "a//b", or a leading "/"
  kDotSegment,    // "." or ".." as a segment
  kLongSegment,   // a segment of more than 255 bytes
  kNulByte,
  kShadowedByDirectory,  // the file "a" beside "a/…"
  kDirectoryData,        // "a/" that holds bytes: shown as a directory, its bytes cannot be reached
};
inline constexpr int kSkipReasons = 6;
/// The name of a reason in JSON and messages: "empty_segment".
absl::string_view SkipReasonName(SkipReason reason);

/// What the build saw and left out. An empty or partly skipped tree is never a silent result.
struct IndexReport {
  static constexpr size_t kExamples = 10;
  struct Skipped {
    uint64_t count = 0;
    std::vector<std::string> examples;  // The first ten keys found, raw bytes.
  };

  /// Counts a key that is left out, and keeps it as an example while there are few.
  void Skip(SkipReason reason, absl::string_view key);

  uint64_t keys = 0;         // Seen in the listing.
  uint64_t files = 0;        // In the tree.
  uint64_t directories = 0;  // In the tree, without the root: implied and marked.
  uint64_t marked_directories =
      0;                  // Of these, with a marker object (empty or not), which gives them their time.
  uint64_t bytes = 0;     // Sum of the sizes of `files`.
  uint64_t archived = 0;  // Files whose storage class must be restored before reading.
  std::array<Skipped, kSkipReasons> skipped;  // By SkipReason.

  uint64_t list_requests = 0;
  uint32_t list_streams_peak = 0;
  absl::Time built_at = absl::UnixEpoch();
  absl::Duration build_time = absl::ZeroDuration();
  uint64_t image_bytes = 0;
  uint64_t table_bytes = 0;
};

}  // namespace bucketvol
