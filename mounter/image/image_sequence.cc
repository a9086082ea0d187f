#include "mounter/image/image_sequence.h"

#include <utility>

namespace bucketvol {

std::optional<ObjectId> ImageSequence::At(uint64_t ordinal) const {
  absl::StatusOr<ObjectExtent> extent = table_.At(ordinal);
  if (!extent.ok()) return std::nullopt;
  return ObjectId{std::move(extent->key), std::move(extent->etag), extent->size};
}

}  // namespace bucketvol
