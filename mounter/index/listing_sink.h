#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// Receives a whole listing, piece by piece, in strictly increasing byte order of keys.
class ListingSink {
 public:
  virtual ~ListingSink() = default;
  /// Takes the next keys; the views are valid during the call only. May block (that is how it slows the
  /// lister down). An error ends the listing. Called by one thread at a time.
  virtual absl::Status Add(absl::Span<const ListedObject> objects) = 0;
};

}  // namespace bucketvol
