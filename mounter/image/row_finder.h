#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/index/index_file.h"

namespace bucketvol {

/// Finds objects in a table by their keys. Keeps the keys that the first steps of its searches compare with,
/// so that a search reads about two blocks of the table. Not thread-safe.
class RowFinder {
 public:
  /// Borrows `table`.
  explicit RowFinder(const ObjectTable& table) : table_(table) {}

  /// The row of the object with this key (whole, with the prefix); nullopt where there is none.
  absl::StatusOr<std::optional<uint64_t>> Find(absl::string_view key);

 private:
  static constexpr uint64_t kStride = 64;        // The rows of a block of the table.
  static constexpr size_t kMostKept = 32 << 10;  // Keys.

  absl::StatusOr<int> Compare(absl::string_view key, uint64_t row);

  const ObjectTable& table_;
  absl::flat_hash_map<uint64_t, std::string> kept_;  // By row, a multiple of kStride.
};

}  // namespace bucketvol
