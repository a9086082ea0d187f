#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "test/bucketd/synthetic_spec.h"

namespace bucketvol::bucketd {

/// The keys of a synthetic bucket as a function of their index. Keys increase strictly with the index, so
/// that every point of a listing is found by bisection. Immutable and thread-safe.
///
/// A key is DIRECTORY + NAME. NAME is exactly spec.name_bytes long: a word, the zero-padded number within its
/// directory, and, as room allows, `_`, eight hex digits and `.jpg`, as data sets have them: neighbours share
/// a long beginning but not their end.
class KeyFormula {
 public:
  static constexpr size_t kMaxKeyBytes = 1024;

  /// Says why there are no such keys: an empty per-dir, a name too short for its number, a key too long.
  static absl::Status Check(const SyntheticSpec& spec);

  /// `spec` must pass Check.
  explicit KeyFormula(const SyntheticSpec& spec);

  uint64_t size() const { return keys_; }

  /// Writes key number `index` (< size()) to `out`, which has room for kMaxKeyBytes, and returns its length.
  size_t Write(uint64_t index, char* out) const;
  std::string At(uint64_t index) const;

  /// The first index whose key is ≥ `key`; size() when there is none.
  uint64_t FirstAtOrAfter(absl::string_view key) const;
  /// The first index whose key is > `key`; size() when there is none.
  uint64_t FirstAfter(absl::string_view key) const;

 private:
  struct Place {
    uint64_t number;  // Within the directory.
    char* end;        // Behind the directory part.
  };
  Place WriteDirectory(uint64_t index, char* out) const;
  Place WriteSkewed(uint64_t index, char* out) const;
  char* WriteDeepDirectory(uint64_t rank, char* out) const;
  char* WriteName(uint64_t number, uint64_t index, char* out) const;

  uint64_t keys_;
  uint64_t per_dir_;
  uint64_t seed_;
  Shape shape_;
  unsigned name_bytes_;
  unsigned number_width_;     // Digits of the number in a name.
  unsigned directory_width_;  // Digits of a directory's number (even, skewed).
  bool with_hash_;
  bool with_suffix_;
  std::string word_;         // What every name begins with; at least one letter.
  uint64_t skew_begin_ = 0;  // Indices [skew_begin_, skew_end_) are in the one big directory.
  uint64_t skew_end_ = 0;
  uint64_t fan_out_ = 2;           // Sub-directories of a directory (deep).
  uint64_t subtree_size_[9] = {};  // Directories below and including one of depth d.
};

}  // namespace bucketvol::bucketd
