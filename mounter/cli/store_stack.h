#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "mounter/base/clock.h"
#include "mounter/objstore/object_store.h"
#include "mounter/options/volume_spec.h"
#include "mounter/telemetry/status_document.h"

namespace bucketvol {

/// An object store with all that stands around it: transport, credentials, retry, throttle, metering.
class StoreStack {
 public:
  virtual ~StoreStack() = default;
  virtual ObjectStore& store() = 0;
  /// The counters as they are now. Thread-safe.
  virtual StatusDocument::Store Status() const = 0;
};

/// Makes the store of a volume. Borrows `clock` for the store's life. Errors name credentials that cannot be
/// read.
absl::StatusOr<std::unique_ptr<StoreStack>> MakeStoreStack(const VolumeSpec& spec, const Clock& clock);

}  // namespace bucketvol
