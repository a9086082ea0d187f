#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "mounter/base/clock.h"
#include "mounter/cli/store_stack.h"
#include "mounter/objstore/object_store.h"
#include "mounter/options/volume_spec.h"

namespace bucketvol {

/// Lists one key of the volume's source with the credentials of `spec`; blocks. The service's error when it
/// refuses them.
absl::Status VerifyCredentials(const VolumeSpec& spec, const Clock& clock,
                               const std::shared_ptr<Cancellation>& cancellation);

/// Changes the credentials of a store that is in use, on a thread of its own: one LIST with the new ones,
/// then they replace the old. Refused ones change nothing.
///
/// Start and the destructor: one thread. The destructor waits; cancel first.
class CredentialChange {
 public:
  /// `spec`: the volume with the new credentials, once they are in use; empty after an error.
  using Done = std::function<void(const absl::Status& status, const Secret& spec)>;

  /// Borrows `clock`.
  CredentialChange(const Clock& clock, std::shared_ptr<Cancellation> cancellation)
      : clock_(clock), cancellation_(std::move(cancellation)) {}
  ~CredentialChange();

  /// Waits for the change before this one. `spec`: the volume as it is served; `bytes`: a serialized spec, of
  /// which the credentials count.
  void Start(VolumeSpec spec, const std::string& bytes, std::shared_ptr<StoreStack> stack, Done done);

 private:
  absl::StatusOr<Secret> Run(VolumeSpec spec, const std::string& bytes, StoreStack& stack) const;

  const Clock& clock_;
  const std::shared_ptr<Cancellation> cancellation_;
  std::thread thread_;
};

}  // namespace bucketvol
