#pragma once

#include <cstdint>
#include <optional>

#include "mounter/index/index_file.h"
#include "mounter/reader/object_sequence.h"

namespace bucketvol {

/// The objects of an index in key order, which is the order of its directories: not that of their addresses,
/// because neighbours lie on different devices. Thread-safe.
class ImageSequence final : public ObjectSequence {
 public:
  /// Borrows `table`.
  explicit ImageSequence(const ObjectTable& table) : table_(table) {}

  uint64_t size() const override { return table_.rows(); }
  std::optional<ObjectId> At(uint64_t ordinal) const override;

 private:
  const ObjectTable& table_;
};

}  // namespace bucketvol
