#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "mounter/base/clock.h"
#include "mounter/objstore/credential_provider.h"
#include "mounter/objstore/credentials_replaceable.h"
#include "mounter/objstore/store_factory.h"
#include "mounter/options/volume_spec.h"
#include "mounter/telemetry/status_document.h"

namespace bucketvol {

/// What is known of a volume's way to its service before the first request.
enum class Acquaintance {
  kNew,     // Its settings may be wrong: a service that cannot be reached is given up soon.
  kProven,  // The volume has been served already: a service that cannot be reached is an outage, and waited
            // for.
};

/// The object store of one volume and the credentials it signs with.
class StoreStack {
 public:
  /// Sends nothing yet. Borrows `clock`. Errors name the option that is wrong.
  static absl::StatusOr<std::unique_ptr<StoreStack>> Make(const VolumeSpec& spec, const Clock& clock,
                                                          Acquaintance acquaintance = Acquaintance::kNew);

  BucketStore& store() { return *store_; }

  /// Signs the requests to come with these. Thread-safe. Verify them first (VerifyCredentials).
  absl::Status ReplaceCredentials(const SpecCredentials& credentials);

 private:
  StoreStack(std::shared_ptr<CredentialProvider> credentials, const Clock& clock)
      : clock_(clock), credentials_(std::move(credentials)) {}

  const Clock& clock_;
  ReplaceableCredentials credentials_;  // Outlives the store.
  std::unique_ptr<BucketStore> store_;
};

/// What a volume tells its store.
absl::StatusOr<StoreSettings> StoreSettingsOf(const VolumeSpec& spec,
                                              Acquaintance acquaintance = Acquaintance::kNew);

/// The counters as they are now, for the status document.
StatusDocument::Store StoreStatus(const StoreMetrics& metrics);

}  // namespace bucketvol
