#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "mounter/base/clock.h"
#include "mounter/objstore/congestion.h"
#include "mounter/objstore/credential_provider.h"
#include "mounter/objstore/curl_transport.h"
#include "mounter/objstore/hedge_policy.h"
#include "mounter/objstore/object_store.h"
#include "mounter/objstore/request_factory.h"
#include "mounter/objstore/retry_policy.h"
#include "mounter/objstore/store_metrics.h"

namespace bucketvol {

/// Everything a store is told. Holds no secrets but a proxy's password.
struct StoreSettings {
  std::string url;     // http://HOST[:PORT] or https://HOST[:PORT]
  std::string region;  // For version 4 signatures; empty: as the url tells.
  std::string bucket;
  Dialect dialect = Dialect::kOss;
  Signature signature = Signature::kOssV4;
  Addressing addressing = Addressing::kAuto;
  ListVersion list_version = ListVersion::kV2;
  TransportSettings transport;
  double request_rate = 0;  // Most requests per second; 0: as many as the service bears.
  RetrySettings retry;
  std::optional<HedgeSettings> hedge = HedgeSettings();  // None: slow GETs are waited for.
};

/// A bucket, with retries, throttling and metering around it. The destructor cancels what is in flight and
/// waits.
class BucketStore : public ObjectStore {
 public:
  virtual const StoreMetrics& metrics() const = 0;
  /// How the service is reached, for a log line: "http://HOST:PORT directly", or "… by proxy
  /// http://HOST:PORT". No secrets.
  virtual std::string Route() const = 0;
  /// Has `observer` hear of congestion from now on, in place of the one before; null: nobody.
  virtual void Observe(std::shared_ptr<CongestionObserver> observer) = 0;
  /// Ends every call with Cancelled, also those to come. Returns at once.
  virtual void Shutdown() = 0;
};

/// Builds a store: meter over retry over throttle over the service's requests, signed, over HTTP. Sends
/// nothing yet. Borrows `credentials` and `clock`. An error tells which setting is wrong.
absl::StatusOr<std::unique_ptr<BucketStore>> MakeObjectStore(const StoreSettings& settings,
                                                             CredentialProvider& credentials,
                                                             const Clock& clock);

}  // namespace bucketvol
