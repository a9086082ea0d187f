#include "mounter/image/row_finder.h"

#include <algorithm>
#include <utility>

#include "mounter/base/status_macros.h"

namespace bucketvol {

absl::StatusOr<int> RowFinder::Compare(absl::string_view key, uint64_t row) {
  if (const auto kept = kept_.find(row); kept != kept_.end()) return key.compare(kept->second);
  ASSIGN_OR_RETURN(ObjectExtent extent, table_.At(row));
  const int order = key.compare(extent.key);
  if (row % kStride == 0 && kept_.size() < kMostKept) kept_[row] = std::move(extent.key);
  return order;
}

// First to the block, then to the row in it.
absl::StatusOr<std::optional<uint64_t>> RowFinder::Find(absl::string_view key) {
  uint64_t low = 0, high = table_.rows();  // The row is in [low, high), if it is.
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const uint64_t row = high - low > kStride ? std::max(low, middle - middle % kStride) : middle;
    ASSIGN_OR_RETURN(const int order, Compare(key, row));
    if (order == 0) return row;
    if (order < 0) {
      high = row;
    } else {
      low = row + 1;
    }
  }
  return std::nullopt;
}

}  // namespace bucketvol
