#pragma once

#include <cstdint>
#include <optional>

#include "mounter/reader/object_id.h"

namespace bucketvol {

/// The objects of a source in the order in which a reader of directories meets them, numbered from 0.
///
/// Thread-safe. Calls must not block on the network.
class ObjectSequence {
 public:
  virtual ~ObjectSequence() = default;
  virtual uint64_t size() const = 0;
  /// The object at a position; nullopt when it cannot be told.
  virtual std::optional<ObjectId> At(uint64_t ordinal) const = 0;
};

}  // namespace bucketvol
